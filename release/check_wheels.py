"""Try the wheels in ``dist/`` as a user gets them: ``python release/check_wheels.py``, after ``release/build.py``.

Their metadata pass ``twine check --strict``. All of them are installed into an empty environment, with what they
require from the package index. There ``oneclaw --version`` prints their version, every plugin loads, and ``oneclaw run
hello`` in an empty home answers. The environment stays in ``build/environment``, which ``release/sbom.py`` describes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / "build" / "environment"


def run(*command: str, **more: str) -> str:
    """Run a command, and return its output; exit with what it says if it fails."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ONECLAW_", "PYTHON"))} | more
    done = subprocess.run(command, cwd=ROOT / "build", env=environ, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Check the wheels, and print what was found."""
    files = sorted(map(str, (ROOT / "dist").glob("*")))
    wheels = [each for each in files if each.endswith(".whl")]
    if not wheels:
        sys.exit("there are no wheels in dist/: run release/build.py first")
    (ROOT / "build").mkdir(exist_ok=True)
    run("uvx", "twine", "--no-color", "check", "--strict", *files)
    print(f"twine check: {len(files)} files passed")
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    run("uv", "venv", "--quiet", "--no-project", "--python", sys.executable, str(ENVIRONMENT))
    python = str(ENVIRONMENT / "bin" / "python")
    run("uv", "pip", "install", "--quiet", "--python", python, *wheels)
    program = str(ENVIRONMENT / "bin" / "oneclaw")
    with tempfile.TemporaryDirectory() as home:
        here = {"ONECLAW_HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "PYTHONSAFEPATH": "1"}
        version = run(program, "--version", **here).split()[-1]
        expected = Path(wheels[0]).name.split("-")[1]
        if version != expected:
            sys.exit(f"oneclaw --version prints {version}, the wheels have {expected}")
        plugins = json.loads(run(program, "plugins", "list", "--json", **here))
        broken = [each["name"] for each in plugins if each["status"] != "ok"]
        others = [each["name"] for each in plugins if each["version"] != version]
        if broken or others:
            sys.exit(f"plugins that do not load: {broken}; plugins of another version: {others}")
        answer = run(program, "run", "hello", **here)
        if not answer.strip():
            sys.exit("oneclaw run hello prints nothing")
    print(f"oneclaw {version}: {len(plugins)} plugins load, and it answers: {answer.splitlines()[0]}")


if __name__ == "__main__":
    main()
