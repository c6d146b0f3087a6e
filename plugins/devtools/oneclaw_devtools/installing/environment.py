"""The environment that OneClaw runs in, and the program that installs into it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import site
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Files in the prefix that tell who made the environment: its name, and the commands that remove plugins from it.
_MAKERS = {
    "uv-receipt.toml": ("an environment of uv tool", "uv tool upgrade"),
    "pipx_metadata.json": ("an environment of pipx", "pipx reinstall"),
    "conda-meta": ("a conda environment", ""),
}


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment to install into.

    Attributes:
        description: Kind of environment, for people.
        python: Its interpreter.
        prefix: Its folder.
        uv: Path of uv if that installs; ``None`` for the environment's own pip.
        is_user_site: True to install among the user's own packages.
        remover: Command that removes plugins from it; empty if there is none.
    """

    description: str
    python: Path
    prefix: Path
    uv: Path | None = None
    is_user_site: bool = False
    remover: str = ""


def find_environment(environ: Mapping[str, str]) -> Environment:
    """Find the environment of the running interpreter, and its pip, else uv.

    Args:
        environ: Variables, for ``PATH`` and for ``UV``, which uv sets in what it runs.

    Raises:
        OneClawError: Installing is forbidden or impossible; the message says what to do.
    """
    # The interpreter is not resolved: Python finds a virtual environment by this link.
    python, prefix, is_virtual = Path(sys.executable), Path(sys.prefix), sys.prefix != sys.base_prefix
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"  # PEP 668
    if not is_virtual and marker.exists():
        raise OneClawError(
            f"this Python belongs to the operating system, which allows no other packages in it "
            f"({marker}): install OneClaw with 'uv tool install oneclaw-core' or "
            "'pipx install oneclaw-core', or into a virtual environment, and run this command of that installation"
        )
    uv = None if importlib.util.find_spec("pip") else _find_uv(environ, prefix)
    if uv is None and not importlib.util.find_spec("pip"):
        raise OneClawError(
            f"neither pip nor uv is there to install into {prefix}: run '{python} -m ensurepip', or install uv"
        )
    for file, (description, remover) in _MAKERS.items():
        if (prefix / file).exists():
            return Environment(description, python, prefix, uv, remover=remover)
    if is_virtual:
        description = "a virtual environment without pip, through uv" if uv else "a virtual environment with pip"
        return Environment(description, python, prefix, uv)
    if Path(__file__).resolve().is_relative_to(Path(site.getusersitepackages()).resolve()):
        return Environment("the user's own packages", python, prefix, uv, is_user_site=True)
    return Environment("a Python without an environment of its own", python, prefix, uv)


def _find_uv(environ: Mapping[str, str], prefix: Path) -> Path | None:
    named = environ.get("UV", "")
    folders = [*environ.get("PATH", os.defpath).split(os.pathsep), str(prefix / "bin"), "~/.local/bin"]
    # A relative folder in PATH depends on the current directory, which may be a checkout.
    absolute = os.pathsep.join(folder for folder in map(os.path.expanduser, folders) if Path(folder).is_absolute())
    found = (shutil.which(named) if Path(named).is_absolute() else None) or shutil.which("uv", path=absolute)
    return Path(found) if found else None
