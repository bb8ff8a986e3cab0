"""The commands in the README and the user's guide do what the text says.

A block of commands starts with ```console; lines that begin with `$ ` are commands and run one after the other, in a
folder where `scripts`, `results/schema`, `examples` and `.venv` are ours. A block that starts with ```python is a
program that runs there, too. A comment before the block says more:
`<!-- file NAME -->` a block of JSON, SQL or Python is not run but written to that file, for the commands that follow;
`<!-- exit 1 -->` the last command exits with 1, `<!-- deep -->` only under `scripts/test --deep`,
`<!-- shown: REASON -->` not run, and why.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import AMPGATE, ROOT, is_fine

GUIDE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = [*GUIDE, ROOT / "examples" / "from_pytorch" / "README.md"]
BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^>]*) -->\n)?```(?P<language>console|python|json|sql)\n(?P<body>.*?)```", re.DOTALL
)


@dataclass
class Block:
    commands: list[str]
    exit_code: int
    deep: bool
    shown_because: str


def blocks(document: Path) -> list[Block]:
    found = []
    for match in BLOCK.finditer(document.read_text()):
        note = match["note"] or ""
        written = re.search(r"file (\S+)", note)
        if written:
            commands = [f"printf %s {shlex.quote(match['body'])} > {shlex.quote(written[1])}"]
        elif match["language"] in ("json", "sql"):
            continue
        elif match["language"] == "python":
            # From a file: TorchScript's compiler reads the source.
            write = f"printf %s {shlex.quote(match['body'])} > program.py"
            commands = [f"{write} && {shlex.quote(sys.executable)} program.py"]
        else:
            commands = [line[2:] for line in match["body"].splitlines() if line.startswith("$ ")]
        assert commands, f"{document}: a console block without a command"
        code = re.search(r"exit (\d)", note)
        shown = re.search(r"shown: (.+)", note)
        found.append(Block(commands, int(code[1]) if code else 0, "deep" in note.split(), shown[1] if shown else ""))
    return found


def said(command: str, out: str, folder: Path) -> str:
    """What it wrote, to standard output or to the file that it was sent to."""
    written = re.search(r"> (\S+)$", command)
    return (folder / written[1]).read_text() if written and (folder / written[1]).is_file() else out


def run_document(document: Path, folder: Path, deep: bool) -> int:
    for ours in ("scripts", "results/schema", "results/examples", "examples", ".venv"):
        (folder / ours).parent.mkdir(exist_ok=True)
        (folder / ours).symlink_to(ROOT / ours)
    count = 0
    for block in blocks(document):
        if block.shown_because or (block.deep and not deep):
            continue
        for command in block.commands:
            last = command is block.commands[-1]
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=900, check=False,
            )  # fmt: skip
            expected = block.exit_code if last else 0
            if expected == 0 and is_fine(done.returncode, said(command, done.stdout, folder)):
                expected = done.returncode
            assert done.returncode == expected, f"{document.name}: {command}\n{done.stdout}\n{done.stderr}"
            count += 1
    return count


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands(document: Path, tmp_path: Path) -> None:
    run_document(document, tmp_path, deep=False)


@pytest.mark.deep
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_commands(document: Path, tmp_path: Path) -> None:
    run_document(document, tmp_path, deep=True)


def test_readme_has_commands() -> None:
    assert sum(len(block.commands) for block in blocks(ROOT / "README.md")) >= 8


@pytest.mark.parametrize("code", ["0", "1", "2", "3", "128 + N"])
def test_every_exit_code_is_documented(code: str) -> None:
    words = subprocess.run([AMPGATE, "--help"], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"(: |; ){re.escape(code)} ", " ".join(words.split()))
    assert f"\n| {code} | " in (ROOT / "README.md").read_text()
