"""Wheels made on the spot, and environments to install them into, without a network."""

import ensurepip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

import oneclaw_core
from oneclaw_core import find_home
from oneclaw_core.installing.environment import Environment, EnvironmentKind
from oneclaw_core.installing.installer import PluginInstaller

PLUGIN = """
from oneclaw_core import ToolGroupDefinition, hookimpl, tool

@tool(group="{name}_group")
def {name}_tool() -> str:
    "Say hello; use when asked to."
    return "hello"

@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("{name}_group", "Acme", "Says hello"))

@hookimpl
def register_tools(register):
    register({name}_tool)
"""


def write_wheel(folder, name="acme-tools", version="1.0", *, is_plugin=True, requires=(), source=None):
    """Write a wheel as build backends do, and give its path."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        f"{module}.py": source if source is not None else PLUGIN.format(name=module),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}\nText.\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if is_plugin:
        files[f"{info}/entry_points.txt"] = f"[oneclaw]\n{module} = {module}\n"
    lines = [f"{path},{_hash(content)},{len(content)}" for path, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(exist_ok=True)
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name_in_wheel, content in files.items():
            wheel.writestr(name_in_wheel, content)
    return path


def _hash(content):
    return "sha256=" + urlsafe_b64encode(sha256(content.encode()).digest()).rstrip(b"=").decode()


@dataclass(frozen=True)
class Installation:
    """An environment with OneClaw in it, and a home."""

    prefix: Path
    home: Path
    environ: dict

    @property
    def python(self):
        return self.prefix / "bin" / "python"

    def oneclaw(self, *arguments, **environ):
        """Run the program there."""
        return subprocess.run(
            [self.python, "-P", "-m", "oneclaw_core", *map(str, arguments)],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=self.environ | environ,
            cwd=self.prefix,
            timeout=300,
        )

    def recorded(self):
        path = self.home / "plugins.json"
        return json.loads(path.read_text())["plugins"] if path.exists() else []

    def site(self):
        (site,) = self.prefix.glob("lib/python3*/site-packages")
        return site


def make_installation(folder, pip=None):
    """Make a virtual environment which finds OneClaw where the tests do, and is said to have it installed.

    Args:
        folder: an empty one.
        pip: the folder in which it finds pip, ``None`` for an environment without.
    """
    prefix = folder / "environment"
    venv.create(prefix, with_pip=False, symlinks=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    source = Path(oneclaw_core.__file__).parents[1]
    (site / "core.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n{source}\n")
    info = site / f"oneclaw_core-{oneclaw_core.__version__}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: oneclaw-core\nVersion: {oneclaw_core.__version__}\n")
    (info / "entry_points.txt").write_text("[oneclaw]\nbuiltin = oneclaw_core.builtin\n")
    (site / "pip.pth").write_text(f"{pip}\n" if pip else "import sys; sys.modules['pip'] = None\n")
    environ = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "ONECLAW_HOME": str(folder / "home"),
        "ONECLAW_DISABLED_PLUGINS": "config,google_workspace,js_tool_management,pdf,scheduled_tasks",
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_INDEX": "1",
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(folder / "uv-cache"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    return Installation(prefix, folder / "home", environ)


def unpack_pip(folder):
    """Unpack the pip that comes with Python."""
    wheels = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
    if not wheels:
        pytest.skip("this Python brings no pip")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        wheel.extractall(folder)
    return folder


def find_uv():
    found = os.environ.get("UV") or shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("uv is not on PATH")
    return found


def installer_that_runs_nothing(folder):
    """Make an installer whose programs cannot be started."""
    nowhere = folder / "nowhere"
    environment = Environment(EnvironmentKind.PIP, nowhere / "bin" / "python", nowhere, nowhere / "bin" / "python")
    home = find_home({}, folder / "home")
    return PluginInstaller(home, environment, {}, show=lambda line: None, directory=folder)
