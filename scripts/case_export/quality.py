"""How good the answers of a model are on its data, and the least that a case file asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from case_export.error import ExportError

if TYPE_CHECKING:
    from collections.abc import Sequence

ACCURACY_LOSS = 0.005  # as the default rules' maximum_accuracy_loss, but one row at least
RMSE_RATIO = 1.05  # as the default rules' maximum_rmse_ratio
DECISION_MEMBERS = ("kind", "thresholds", "k", "ranked", "actions", "edges")


def decision_rule(decisions: str | Mapping[str, Any]) -> dict[str, Any]:
    """"argmax", or {"kind": "top_k", "k": 5}: the members of a case file's `decisions`."""
    rule = dict(decisions) if isinstance(decisions, Mapping) else {"kind": decisions}
    for key in rule:
        if key not in DECISION_MEMBERS:
            raise ExportError(f"decisions have no {key!r}", f"known: {', '.join(DECISION_MEMBERS)}")
    needed = {"argmax": (), "threshold": ("thresholds",), "top_k": ("k",), "actions": ("actions",)}
    if rule.get("kind") not in needed:
        raise ExportError(f"there is no kind of decision {rule.get('kind')!r}", f"known: {', '.join(needed)}")
    for key in needed[rule["kind"]]:
        if key not in rule:
            raise ExportError(f"decisions of kind {rule['kind']!r} need {key!r}", "see docs/case-files.md")
    return rule


def decided(scores: Tensor, rule: Mapping[str, Any]) -> tuple[Tensor, int]:
    """Class, interval, or 0 and 1: (decisions, 1), of the k largest (decisions, k); and how many choices there are."""
    last = scores.shape[-1] if scores.dim() > 1 else 1
    if rule["kind"] == "threshold":
        thresholds = torch.tensor(rule["thresholds"], dtype=scores.dtype)
        if len(thresholds) not in (1, last):
            raise ExportError(f"{len(thresholds)} thresholds for {last} classes", "give one, or one a class")
        return (scores >= thresholds).long().reshape(-1, 1), 2
    if "edges" in rule:
        edges = torch.tensor(rule["edges"], dtype=scores.dtype)
        if len(rule["actions"]) != len(edges) + 1:
            raise ExportError(f"{len(rule['actions'])} actions for {len(edges) + 1} intervals", "give one for each")
        return torch.bucketize(scores.contiguous(), edges, right=True).reshape(-1, 1), len(edges) + 1
    if last < 2:
        raise ExportError("the scores have one class: every row would decide alike", "give thresholds, or edges")
    if rule["kind"] == "actions" and len(rule["actions"]) != last:
        raise ExportError(f"{len(rule['actions'])} actions for {last} classes", "give one for each, or edges")
    k = rule.get("k", 1)
    if not 1 <= k < last:
        raise ExportError(f"the {k} largest of {last} scores are no choice", f"give a k from 1 to {last - 1}")
    # Of equal scores the lowest index is ahead, as by the default rules.
    return scores.reshape(-1, last).sort(dim=-1, descending=True, stable=True).indices[:, :k], last


def minimum_accuracy(scores: Tensor, labels: Tensor, rule: Mapping[str, Any]) -> tuple[float, float]:
    """Accuracy of FP32, and the least to ask for."""
    if not scores.is_floating_point() or scores.dim() == 0 or scores.numel() == 0:
        sizes = list(scores.shape)
        raise ExportError(f"scores are {scores.dtype} of sizes {sizes}", "return floats: rows, then classes")
    chosen, choices = decided(scores, rule)
    if labels.is_floating_point() or labels.numel() != len(chosen):
        given = f"{labels.numel()} labels of {labels.dtype}"
        raise ExportError(f"{given} for {len(chosen)} decisions", "give one integer label a decision")
    right = labels.reshape(-1, 1).long()
    if right.min() < 0 or right.max() >= choices:
        raise ExportError(f"labels from {right.min()} to {right.max()}", f"give labels from 0 to {choices - 1}")
    if rule["kind"] == "actions":
        chosen, right = same_actions(chosen, rule["actions"]), same_actions(right, rule["actions"])
    count = int((chosen == right).any(-1).sum())
    rows = len(chosen)
    allowed = max(1, math.floor(ACCURACY_LOSS * rows))
    return count / rows, max(count - allowed, 0) / rows


def same_actions(entries: Tensor, actions: Sequence[str]) -> Tensor:
    """The first entry of the same action: whoever takes another class for the same action is right."""
    return torch.tensor([actions.index(action) for action in actions])[entries]


def maximum_rmse(prediction: Tensor, targets: Tensor) -> tuple[float, float]:
    """RMS error of FP32, and the largest to accept."""
    if prediction.shape != targets.shape:
        raise ExportError(
            f"targets have sizes {list(targets.shape)}, the output {list(prediction.shape)}", "give both the same sizes"
        )
    if prediction.numel() == 0:
        raise ExportError("there are no targets", "give rows with their right values")
    rmse = (prediction.double() - targets.double()).square().mean().sqrt().item()
    if not math.isfinite(rmse):
        raise ExportError("the RMS error against the targets is not finite", "look for NaN in outputs and targets")
    if rmse == 0:
        raise ExportError("every output is its target", "give targets that were not made from the outputs themselves")
    return rmse, RMSE_RATIO * rmse
