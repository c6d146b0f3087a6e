"""The environments of the contestants, each with what it needs and nothing else.

``python -m benchmarks.environments [CONTESTANT ...]`` makes them beside this file with ``uv``, which downloads the
packages. Who has no environment is left out of a run. OneClaw and the floor run in the environment of the benchmarks.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

FOLDER = Path(__file__).parent / ".environments"
COUNTS_TOKENS = "bpe-openai>=0.1.4"

# The first requirement is the contestant itself.
REQUIREMENTS = {
    "pydantic-ai": ("pydantic-ai-slim[mcp]>=2.68", COUNTS_TOKENS),
    "fastmcp": ("fastmcp>=3", COUNTS_TOKENS),
    "openai-agents": ("openai-agents>=0.24",),
    "agno": ("agno>=3.1", "aiosqlite>=0.20", "openai>=2", "sqlalchemy[asyncio]>=2"),
    "llm": ("llm>=0.36",),
    "langgraph-bigtool": ("langgraph-bigtool>=0.0.3", "langgraph-prebuilt<1"),  # it calls what 1.0 took away
    "workspace-mcp": ("workspace-mcp>=2.2", COUNTS_TOKENS),
    "hermes-agent": ("hermes-agent==0.19.*", "edge-tts==7.2.7"),  # which it would install at its first run
    "nanobot-ai": ("nanobot-ai==0.3.5",),
    "bfcl-eval": ("bfcl-eval==2026.3.23",),  # no contestant: find_tools.py reads its data
}
_WITHOUT_DEPENDENCIES = {"bfcl-eval"}


def program(contestant: str, name: str = "python") -> Path | None:
    """Find a program of a contestant's environment; ``None`` if there is none."""
    folder = FOLDER / contestant if contestant in REQUIREMENTS else Path(sys.executable).parent.parent
    found = folder / "bin" / name
    return found if found.exists() else None


def version_of(contestant: str) -> str | None:
    """Return the version of a contestant that has an environment, ``None`` if it is not installed."""
    name = re.split(r"[\[>=]", REQUIREMENTS[contestant][0])[0]
    packages = [str(path) for path in FOLDER.glob(f"{contestant}/lib/python*/site-packages")]
    # Without paths it would look into this environment.
    found = next(iter(metadata.distributions(name=name, path=packages)), None) if packages else None
    return found.version if found else None


def make(contestant: str) -> bool:
    """Make the environment of a contestant anew; return False if it cannot be made."""
    uv = shutil.which("uv")
    if uv is None:
        sys.exit("uv is needed to make environments: pip install uv")
    folder = FOLDER / contestant
    options = ["--no-deps"] if contestant in _WITHOUT_DEPENDENCIES else []
    commands = (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", "--compile-bytecode", *options, "--python", str(folder)],
    )
    commands[-1].extend(REQUIREMENTS[contestant])
    if all(subprocess.run(command, check=False).returncode == 0 for command in commands):  # noqa: S603  # made above
        return True
    # Half of one would fail in every measurement.
    shutil.rmtree(folder, ignore_errors=True)
    return False


def main() -> None:
    """Make the environments that are asked for, by default those that are missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.environments", description=__doc__)
    parser.add_argument("contestants", nargs="*", metavar="CONTESTANT", help=f"any of {', '.join(REQUIREMENTS)}")
    wanted = parser.parse_args().contestants or [name for name in REQUIREMENTS if version_of(name) is None]
    if unknown := sorted({*wanted} - {*REQUIREMENTS}):
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(REQUIREMENTS)}")
    failed = [name for name in wanted if not make(name)]
    for name in wanted:
        print(f"{name}: {version_of(name) or 'cannot be installed here'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
