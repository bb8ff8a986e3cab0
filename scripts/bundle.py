"""Makes the archive of scripts/bundle: an install tree, and beside it the libraries that its programs need.

Libraries of LibTorch keep their places beside each other, as in a Python environment (torch/lib, nvidia/*/lib), since
they find each other by relative paths. What belongs to the target's C library or driver is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("AMPGATE_BUILD_DIR", ROOT / "build"))

# Of the C library, which must fit the loader and the kernel, and of GPU drivers, which must fit the kernel's part.
OF_THE_TARGET = re.compile(
    r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|nsl|anl|BrokenLocale)|libcuda|libnvidia-.*|libnvcuvid"
    r"|lib(amdhip64_driver|drm.*))\.so(\..*)?$"
)


def fail(what: str, action: str) -> None:
    sys.exit(f"bundle: {what}\n  {action}")


def is_program_or_library(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path: Path, library_path: str) -> dict[str, Path]:
    """Name -> file of all libraries that the loader finds for this one; ends where one is not found."""
    env = {**os.environ, "LD_LIBRARY_PATH": library_path}
    said = subprocess.run(["ldd", path], env=env, capture_output=True, text=True, check=False).stdout
    found = {}
    for line in said.splitlines():
        parts = line.split()
        if "=>" not in parts:
            continue
        name, target = parts[0], line.split("=>")[1].split("(")[0].strip()
        if OF_THE_TARGET.fullmatch(name):
            continue
        if target in ("not found", ""):
            fail(f"{path.name} needs {name}, which is not found", "build again: scripts/bootstrap")
        found[name] = Path(target)
    return found


def torch_of_build() -> Path:
    cache = (BUILD / "CMakeCache.txt").read_text()
    given = re.search(r"^AMPGATE_TORCH_ROOT:\w+=(.+)$", cache, re.MULTILINE)
    if given:
        return Path(given[1])
    where = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    said = subprocess.run([sys.executable, "-c", where], capture_output=True, text=True, check=True).stdout
    return Path(said.strip())


def torch_version(torch: Path) -> str:
    match = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", (torch / "version.py").read_text())
    if match is None:
        fail(f"{torch}/version.py names no version", "bundle a LibTorch that comes as a torch package")
    return match[1]


def install(prefix: Path, cpu: bool) -> list[Path]:
    """The install tree; its programs and modules."""
    cmake = ROOT / ".venv" / "bin" / "cmake"
    subprocess.run([cmake, "--install", BUILD, "--prefix", prefix, "--strip"], check=True, stdout=subprocess.DEVNULL)
    if cpu:
        for module in prefix.glob("libexec/ampgate/*/libampgate-*.so"):
            module.unlink()
    (prefix / "scripts").mkdir()
    shutil.copy2(ROOT / "scripts" / "qualify_gpu", prefix / "scripts")
    shutil.copy2(ROOT / "docs" / "bundle.md", prefix / "README.md")
    return [path for path in prefix.rglob("*") if path.is_file() and is_program_or_library(path)]


def libraries(programs: list[Path], torch: Path, cpu: bool) -> tuple[dict[str, Path], dict[str, Path]]:
    """Of LibTorch, with those that it opens by name; and the others. By name."""
    site = torch.parent
    vendors = sorted(str(folder) for folder in (site / "nvidia").glob("*/lib"))
    library_path = ":".join([str(torch / "lib"), *vendors])
    of_torch: dict[str, Path] = {}
    others: dict[str, Path] = {}
    for program in programs:
        for name, path in needed(program, library_path).items():
            inside = site in path.resolve().parents or site in path.absolute().parents
            (of_torch if inside else others)[name] = path
    if cpu:
        return of_torch, others
    # cuDNN and NVRTC open parts of themselves when they are asked for something: whole folders of the vendor go along.
    for folder in {path.resolve().parent for path in of_torch.values()} - {(torch / "lib").resolve()}:
        for path in folder.glob("*.so*"):
            of_torch.setdefault(path.name, path)
    return of_torch, others


def copy_torch(of_torch: dict[str, Path], torch: Path, lib: Path) -> None:
    site = torch.parent.resolve()
    for name, path in of_torch.items():
        place = lib / path.resolve().parent.relative_to(site) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path.resolve(), place)


def copy_others(others: dict[str, Path], lib: Path) -> None:
    lib.mkdir(exist_ok=True)
    for name, path in others.items():
        shutil.copy2(path.resolve(), lib / name)


def require_torch(prefix: Path, version: str) -> None:
    for worker in prefix.glob("libexec/ampgate/*"):
        (worker / "torch.json").write_text(json.dumps({"version": version}) + "\n")


def members(prefix: Path) -> Iterator[Path]:
    yield from sorted(path for path in prefix.rglob("*") if not path.is_dir())


def pack(prefix: Path, archive: Path, level: int) -> None:
    """The same bytes from the same files: sorted, without names and times of this machine."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info

    partial = archive.with_name(archive.name + ".partial")
    with tarfile.open(partial, "w:gz", compresslevel=level) as tar:
        for path in members(prefix):
            tar.add(path, arcname=str(path.relative_to(prefix.parent)), filter=plain)
    partial.rename(archive)


def mib(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bundle", description=__doc__.splitlines()[0])
    parser.add_argument("--slim", action="store_true", help="without LibTorch: it uses an installed torch package")
    parser.add_argument("--cpu", action="store_true", help="without the modules of GPUs and what only they need")
    parser.add_argument("--out", type=Path, default=Path.cwd(), help="folder for the archive (default: here)")
    options = parser.parse_args()
    if not options.out.is_dir():
        fail(f"{options.out} is no folder", "give --out one that is there")
    torch = torch_of_build()
    version = torch_version(torch)
    kind = "".join(f"-{word}" for word, chosen in (("cpu", options.cpu), ("slim", options.slim)) if chosen)
    name = f"ampgate-torch-{version}-{os.uname().machine}{kind}"
    with tempfile.TemporaryDirectory(dir=options.out) as scratch:
        prefix = Path(scratch) / name
        of_torch, others = libraries(install(prefix, options.cpu), torch, options.cpu)
        copy_others(others, prefix / "lib")
        if options.slim:
            require_torch(prefix, version)
        else:
            copy_torch(of_torch, torch, prefix / "lib")
        unpacked = sum(path.stat().st_size for path in members(prefix))
        archive = options.out / f"{name}.tar.gz"
        pack(prefix, archive, level=9 if options.slim else 1)
    print(f"{archive}: {mib(archive.stat().st_size)}, {mib(unpacked)} unpacked")


if __name__ == "__main__":
    main()
