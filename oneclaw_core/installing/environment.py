"""What kind of environment OneClaw runs in, and what installs packages into it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from collections.abc import Mapping

PIPX_METADATA = "pipx_metadata.json"
UV_RECEIPT = "uv-receipt.toml"


class EnvironmentKind(StrEnum):
    """Who made the environment, as far as it matters for installing."""

    PIP = "a virtual environment with pip"
    UV = "a virtual environment without pip, through uv"
    PIPX = "an environment of pipx"
    UV_TOOL = "an environment of uv tool"
    CONDA = "a conda environment"
    USER_SITE = "the user's own packages"
    SYSTEM = "a Python without an environment of its own"


@dataclass(frozen=True, slots=True)
class InterpreterFacts:
    """What has to be known of the interpreter to tell.

    Attributes:
        executable: the interpreter.
        prefix: where its environment is.
        is_virtual: whether that is a virtual environment.
        files: names of the files and folders in the prefix that say who made it.
        has_pip: whether it can import pip.
        externally_managed: the file in which its distributor forbids pip (PEP 668), ``None`` if there is none.
        is_core_in_user_site: whether OneClaw itself is among the user's own packages.
        uv, pipx: these programs, ``None`` for one that is not found.
    """

    executable: Path
    prefix: Path
    is_virtual: bool
    files: frozenset[str] = frozenset()
    has_pip: bool = True
    externally_managed: Path | None = None
    is_core_in_user_site: bool = False
    uv: Path | None = None
    pipx: Path | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """Where to install, and with what.

    Attributes:
        kind: who made it.
        python: its interpreter.
        prefix: its folder.
        installer: the program that installs: the interpreter itself for pip, else uv or pipx.
        note: what the user should know before, on one line; empty for nothing.
    """

    kind: EnvironmentKind
    python: Path
    prefix: Path
    installer: Path
    note: str = ""


def gather_facts(environ: Mapping[str, str]) -> InterpreterFacts:
    """Look at the interpreter that runs.

    Args:
        environ: the environment, for ``PATH`` and for ``UV``, in which uv names itself to what it runs.
    """
    import importlib.util
    import site
    import sysconfig

    prefix = Path(sys.prefix)
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    user_site = Path(site.getusersitepackages()).resolve()
    return InterpreterFacts(
        # Not resolved: the link in a virtual environment is what makes Python know the environment.
        executable=Path(sys.executable),
        prefix=prefix,
        is_virtual=sys.prefix != sys.base_prefix,
        files=frozenset(name for name in (PIPX_METADATA, UV_RECEIPT, "conda-meta") if (prefix / name).exists()),
        has_pip=importlib.util.find_spec("pip") is not None,
        externally_managed=marker if marker.exists() else None,
        is_core_in_user_site=Path(__file__).resolve().is_relative_to(user_site),
        uv=_find_program("uv", environ, prefix),
        pipx=_find_program("pipx", environ, prefix),
    )


def detect_environment(facts: InterpreterFacts) -> Environment:
    """Decide what installs into the interpreter's environment.

    Args:
        facts: of the interpreter, see :func:`gather_facts`.

    Raises:
        OneClawError: nothing may, or nothing can; it says what to do.
    """
    if facts.is_virtual and UV_RECEIPT in facts.files:
        if facts.uv is None:
            raise OneClawError(
                f"OneClaw was installed by uv tool, and uv cannot be found: put it on PATH ({facts.prefix})"
            )
        return Environment(EnvironmentKind.UV_TOOL, facts.executable, facts.prefix, facts.uv)
    if facts.is_virtual and PIPX_METADATA in facts.files and facts.pipx is not None:
        return Environment(EnvironmentKind.PIPX, facts.executable, facts.prefix, facts.pipx)
    note = ""
    if facts.is_virtual and PIPX_METADATA in facts.files:
        note = (
            "OneClaw was installed by pipx, which cannot be found and will not know of this: "
            "after 'pipx reinstall', run oneclaw plugins sync"
        )
    if facts.externally_managed is not None and not facts.is_virtual:
        raise OneClawError(
            f"this Python belongs to the operating system, which allows no other packages in it "
            f"({facts.externally_managed}): install OneClaw with 'uv tool install oneclaw-core' or "
            "'pipx install oneclaw-core', or into a virtual environment, and run this command of that installation"
        )
    if facts.has_pip:
        return Environment(_kind_with_pip(facts), facts.executable, facts.prefix, facts.executable, note)
    if facts.uv is not None:
        return Environment(EnvironmentKind.UV, facts.executable, facts.prefix, facts.uv, note)
    raise OneClawError(
        f"neither pip nor uv is there to install into {facts.prefix}: "
        f"run '{facts.executable} -m ensurepip', or install uv"
    )


def _kind_with_pip(facts: InterpreterFacts) -> EnvironmentKind:
    if "conda-meta" in facts.files:
        return EnvironmentKind.CONDA
    if facts.is_virtual:
        return EnvironmentKind.PIP
    return EnvironmentKind.USER_SITE if facts.is_core_in_user_site else EnvironmentKind.SYSTEM


def _find_program(name: str, environ: Mapping[str, str], prefix: Path) -> Path | None:
    import shutil

    folders = [*environ.get("PATH", os.defpath).split(os.pathsep), str(prefix / "bin"), str(Path("~/.local/bin"))]
    # A relative folder of PATH means another one in each directory, and could hold anybody's program.
    absolute = os.pathsep.join(folder for folder in map(os.path.expanduser, folders) if Path(folder).is_absolute())
    named = environ.get(name.upper(), "")
    found = shutil.which(named) if Path(named).is_absolute() else None
    found = found or shutil.which(name, path=absolute)
    return Path(found) if found else None
