"""Wheels made on the spot, an index that serves them on loopback, and environments to install them into."""

import ensurepip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import pytest

import oneclaw_core

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


def write_wheel(
    folder, name="acme-tools", version="1.0", *, is_plugin=True, requires=(), source=None, files=None, points=None
):
    """Write a wheel as build backends do, and give its path."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = files or {f"{module}.py": source if source is not None else PLUGIN.format(name=module)}
    files |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}\nText.\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if is_plugin:
        files[f"{info}/entry_points.txt"] = points or f"[oneclaw]\n{module} = {module}\n"
    lines = [f"{path},{_hash(content)},{len(content)}" for path, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(exist_ok=True)
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name_in_wheel, content in files.items():
            wheel.writestr(name_in_wheel, content)
    return path


@contextmanager
def serve_index(wheels):
    """Serve the wheels of a folder as a package index, and give its URL; those that are added later are served too."""

    class Index(SimpleHTTPRequestHandler):
        def translate_path(self, path):
            _, name, *file = path.strip("/").split("/")
            if file:
                return str(wheels / file[0])
            listing = wheels / "simple" / name
            listing.mkdir(parents=True, exist_ok=True)
            for file in wheels.glob(f"{name.replace('-', '_')}-*"):
                (listing / file.name).touch()
            return str(listing)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


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

    def oneclaw(self, *arguments, directory=None, **environ):
        """Run the program there."""
        return subprocess.run(
            [self.python, "-P", "-m", "oneclaw_core", *map(str, arguments)],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=self.environ | environ,
            cwd=directory or self.prefix,
            timeout=300,
        )

    def recorded(self):
        path = self.home / "plugins.json"
        return json.loads(path.read_text())["plugins"] if path.exists() else []

    def site(self):
        (site,) = self.prefix.glob("lib/python3*/site-packages")
        return site


def make_installation(folder, index, pip=None):
    """Make a virtual environment which finds OneClaw where the tests do, and is said to have it installed.

    Args:
        folder: an empty one.
        index: the URL of the only index that is used.
        pip: the folder in which it finds pip, ``None`` for an environment without, in which uv installs.
    """
    prefix = folder / "environment"
    venv.create(prefix, with_pip=False, symlinks=True)
    with zipfile.ZipFile(write_core_wheel(folder)) as wheel:
        wheel.extractall(next(prefix.glob("lib/python3*/site-packages")))
    installation = Installation(prefix, folder / "home", make_environ(folder, index))
    if pip:
        (installation.site() / "pip.pth").write_text(f"{pip}\n")
    return installation


def write_core_wheel(folder):
    """Write a wheel that is said to be OneClaw, which it finds where the tests do."""
    source = Path(oneclaw_core.__file__).parents[1]
    paths = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n{source}\n"
    points = "[oneclaw]\nbuiltin = oneclaw_core.builtin\n[console_scripts]\noneclaw = oneclaw_core.__main__:main\n"
    return write_wheel(folder, "oneclaw-core", oneclaw_core.__version__, files={"core.pth": paths}, points=points)


def make_environ(folder, index):
    """Make the variables for installers that use one index and nothing of this machine's configuration."""
    # Each environment looks at all plugins anew.
    others = sorted({point.name for point in metadata.entry_points(group="oneclaw")} - {"builtin", "devtools"})
    configuration = folder / "uv" / "uv.toml"
    configuration.parent.mkdir(exist_ok=True)
    configuration.write_text(f'[[index]]\nurl = "{index}"\ndefault = true\n')
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "ONECLAW_HOME": str(folder / "home"),
        "ONECLAW_DISABLED_PLUGINS": ",".join(others),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": index,
        "UV": find_uv(),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_CONFIG_DIRS": str(folder),
        "UV_CACHE_DIR": str(folder / "uv-cache"),
        "PYTHONDONTWRITEBYTECODE": "",
    }


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
