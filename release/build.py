"""Build all distributions twice, and compare the two builds byte by byte.

Usage: ``python release/build.py``, with ``uv`` installed. It builds what the newest commit holds, once
in one folder and once in another, with the time of the commit as ``SOURCE_DATE_EPOCH``. If both are the same they are
left in ``dist/``, and their hashes in ``build/SHA256SUMS``, which ``sha256sum --check`` reads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
EXTRAS = ROOT / "build"


def export(folder: Path) -> Path:
    """Write the files of the newest commit to a folder."""
    packed = folder.with_suffix(".tar")
    subprocess.run(["git", "archive", "--output", str(packed), "HEAD"], check=True, cwd=ROOT)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder


def build(source: Path, out: Path, epoch: str, mask: int) -> dict[str, str]:
    """Build all distributions of a source tree.

    Args:
        source: the tree.
        out: where they go.
        epoch: the time that files get, in seconds.
        mask: of the permissions of new files. It must not change what is built.

    Returns:
        The hashes of the files by their names.
    """
    command = ["uv", "build", "--quiet", "--all-packages", "--out-dir", str(out)]
    subprocess.run(command, check=True, cwd=source, env=os.environ | {"SOURCE_DATE_EPOCH": epoch}, umask=mask)
    files = [*out.glob("*.whl"), *out.glob("*.tar.gz")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def main() -> str:
    """Build, compare, and return what was found wrong, ``""`` for nothing."""
    epoch = subprocess.check_output(["git", "log", "-1", "--pretty=%ct"], cwd=ROOT, text=True).strip()
    if subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT, text=True):
        print("build.py: warning: uncommitted changes are not built", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        first = build(export(folder / "one"), folder / "dist", epoch, 0o022)
        second = build(export(folder / "another place"), folder / "again", epoch, 0o077)
        if different := sorted(name for name in first | second if first.get(name) != second.get(name)):
            return "the two builds differ: " + ", ".join(different)
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for name in first:
            shutil.copyfile(folder / "dist" / name, DIST / name)
    EXTRAS.mkdir(exist_ok=True)
    sums = "".join(f"{digest}  {name}\n" for name, digest in first.items())
    (EXTRAS / "SHA256SUMS").write_text(sums, "utf-8")
    print(f"{len(first)} files, the same in both builds, in {DIST.relative_to(ROOT)}/")
    return ""


if __name__ == "__main__":
    sys.exit(main() or 0)
