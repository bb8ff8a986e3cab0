"""Records by the device that they are of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from report_page.record import Json, Record, Trial

KEY_CHARACTERS = 8


@dataclass(frozen=True)
class Device:
    """`records` are the oldest first."""

    label: str
    records: list[Record]

    @property
    def newest(self) -> Record:
        return self.records[-1]

    def newest_with(self, trial_id: str) -> tuple[Record, Trial] | None:
        """A run of a few cases does not hide what an earlier one says of the others."""
        for record in reversed(self.records):
            if trial_id in record.by_id:
                return record, record.by_id[trial_id]
        return None

    def newest_choice(self, case: str, shape: str) -> tuple[Record, Json] | None:
        for record in reversed(self.records):
            for entry in record.choices or []:
                if (entry["case"], entry["shape"]) == (case, shape):
                    return record, entry
        return None


def devices(records: list[Record]) -> list[Device]:
    """Sorted by their names. Where two have the same model, each has the begin of its identity in its name."""
    grouped: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.started, record.id, record.digest)):
        grouped.setdefault(record.device_key, []).append(record)
    models = Counter(group[-1].model for group in grouped.values())
    made = [Device(label(key, group[-1], models), group) for key, group in grouped.items()]
    return sorted(made, key=lambda device: device.label)


def label(key: str, record: Record, models: Counter[str]) -> str:
    if models[record.model] == 1:
        return record.model
    return f"{record.model}, {record.device_name}, {key.removeprefix(f'{record.device_name}-')[:KEY_CHARACTERS]}"
