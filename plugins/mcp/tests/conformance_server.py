"""The server that the conformance suite of MCP tests: ``oneclaw mcp serve --expose direct --http`` in a new home.

The tools that the suite calls come from ``conformance_plugin.py``. The suite sends no token, so that of the server
stands for it. See ``conformance.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import oneclaw_mcp.http_serving

from oneclaw_core.cli.main import main

HERE = Path(__file__).parent
NAME = "conformance"
SERVE = ("mcp", "serve", "--expose", "direct", "--http", "0")
_FILES = {"METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n"}
_FILES["entry_points.txt"] = f"[oneclaw]\n{NAME} = conformance_plugin\n"


def install_plugin(site: Path) -> None:
    """Make the plugin an installed one for this process and those that it starts."""
    info = site / f"{NAME}-1.0.dist-info"
    info.mkdir(parents=True)
    for name, text in _FILES.items():
        (info / name).write_text(text)
    paths = [str(site), str(HERE)]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def serve() -> None:
    """Serve until this process is ended."""
    with tempfile.TemporaryDirectory() as folder:
        install_plugin(Path(folder, "site"))
        home = Path(folder, "home")
        os.environ["ONECLAW_HOME"] = str(home)
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        os.chdir(folder)
        create = [sys.executable, "-m", "oneclaw_core", "mcp", "token", "create", "suite"]
        token = subprocess.run(create, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        Path(home, "workspace").mkdir(exist_ok=True)
        Path(home, "workspace", "notes.txt").write_text("A resource.")
        oneclaw_mcp.http_serving.bearer_token = lambda _: token  # type: ignore[assignment]
        sys.exit(main(list(SERVE)))


if __name__ == "__main__":
    serve()
