"""An environment of somebody who has no checkout: a virtual environment with the built wheels and what they require."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from how_long import IS_LONG
from installations import find_uv

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# What this run of the tests has set, and an author has not.
_OF_THIS_RUN = re.compile(r"(ONECLAW|PYTEST|PYTHON|TOX|COV|UV_PROJECT)_?\w*|VIRTUAL_ENV|COLUMNS")
_TAKES_SECONDS = 900
# uv makes the environments of tox in a tenth of the time; in the long form pip does, as for most authors.
TOX = ["tox"] if IS_LONG else ["tox", "tox-uv"]


@cache
def interpreters():
    """Find the Pythons of this machine that work, by version."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": Path(getattr(sys, "_base_executable", sys.executable))}
    for version in VERSIONS:
        program = shutil.which(f"python{version}")
        if program is not None and subprocess.run([program, "-c", ""], capture_output=True).returncode == 0:
            found.setdefault(version, Path(program))
    return found


def build_wheels(folder):
    """Build the wheels of all distributions."""
    command = [find_uv(), "build", "--quiet", "--all-packages", "--wheel", "--python", sys.executable]
    subprocess.run([*command, "--out-dir", str(folder)], check=True, cwd=ROOT)
    return folder


@dataclass
class Outside:
    """A folder with a virtual environment, where commands run as a person would run them.

    Attributes:
        folder: where everything of it is.
        wheels: the folder that has our distributions in place of an index.
    """

    folder: Path
    wheels: Path

    @property
    def programs(self):
        """The folder of the environment's programs."""
        return self.folder / "venv" / "bin"

    @property
    def environ(self):
        """The environment variables."""
        environ = {name: value for name, value in os.environ.items() if not _OF_THIS_RUN.fullmatch(name)}
        links = " ".join(filter(None, (str(self.wheels), os.environ.get("PIP_FIND_LINKS"))))
        folders = [self.programs, *(path.parent for path in interpreters().values())]
        return environ | {
            "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]]),
            "VIRTUAL_ENV": str(self.folder / "venv"),
            "HOME": str(self.folder / "home"),
            "PIP_CACHE_DIR": pip_cache(),
            "PIP_FIND_LINKS": links,
            "UV_CACHE_DIR": uv_cache(),
            "UV_FIND_LINKS": str(self.wheels),
            "UV_PYTHON_DOWNLOADS": "never",
            "ONECLAW_HOME": str(self.folder / "oneclaw"),
            "COLUMNS": "80",
            "NO_COLOR": "1",
        }

    def make(self, *requirements, version=None):
        """Make the environment, with pip, and install into it."""
        (self.folder / "home").mkdir(parents=True)
        python = interpreters()[version] if version else sys.executable
        self._uv("venv", "--seed", "--python", str(python), str(self.folder / "venv"))
        if requirements:
            self._uv("pip", "install", "--python", str(self.programs / "python"), *requirements)
        return self

    def run(self, command, cwd, *, is_ok=True, **variables):
        """Run a command of a shell, and give what it printed."""
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=cwd,
            env=self.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TAKES_SECONDS,
        )
        if is_ok:
            assert done.returncode == 0, f"{command!r} ended with status {done.returncode}:\n{done.stdout}"
        return done.stdout if is_ok else (done.stdout, done.returncode)

    def run_tox(self, package):
        """Run the whole tox of a new package, with the newest Python, and with each in the long form."""
        versions = sorted(interpreters(), key=lambda version: int(version.partition(".")[2]))
        tested = {f"py{version.replace('.', '')}" for version in (versions if IS_LONG else versions[-1:])}
        report = self.run("tox", package, TOX_SKIP_ENV=rf"(?!{'|'.join(tested)}$)py3\d+")
        passed = set(re.findall(r"^  (\S+): OK", report, re.MULTILINE))
        assert passed >= {"lint", "types", "check", *tested}, report
        assert "congratulations :)" in report

    def _uv(self, *arguments):
        done = subprocess.run([find_uv(), *arguments, "--quiet"], env=self.environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@cache
def pip_cache():
    """Name the cache of this user's pip, which spares downloads."""
    done = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True)
    return done.stdout.strip() or str(Path.home() / ".cache" / "pip")


@cache
def uv_cache():
    """Name the cache of this user's uv."""
    return subprocess.run([find_uv(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def built_wheels(tmp_path_factory):
    """The wheels of all our distributions, which stand for what an index has."""
    return build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def outside(tmp_path, built_wheels):
    """An environment that is still to be made."""
    return Outside(tmp_path / "outside", built_wheels)
