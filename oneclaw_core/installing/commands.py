"""The programs that change what is installed, for each kind of environment; nothing here runs any of them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.installing.environment import PIPX_METADATA, UV_RECEIPT, Environment, EnvironmentKind
from oneclaw_core.installing.uv_receipt import ForeignReceiptError, UvReceipt, read_receipt
from oneclaw_core.plugins.compatibility import CORE_DISTRIBUTION, CORE_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.installing.requirement import PluginRequirement


@dataclass(frozen=True, slots=True)
class InstallerCommand:
    """A program to run.

    Attributes:
        arguments: the program and what it is called with; never seen by a shell.
        environ: variables to set for it.
        note: what the user should know, on one line; empty for nothing.
    """

    arguments: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def install_command(
    environment: Environment, requirements: Sequence[PluginRequirement], *, upgrade: bool = False
) -> InstallerCommand:
    """Say how packages are installed.

    Args:
        environment: where.
        requirements: what.
        upgrade: take the newest versions that fit, also of what is there.
    """
    texts = [each.text for each in requirements]
    match environment.kind:
        case EnvironmentKind.UV_TOOL:
            return _uv_tool(environment, requirements, upgrade=upgrade)
        case EnvironmentKind.PIPX:
            return _pipx(environment, "inject", texts, upgrade=upgrade)
        case EnvironmentKind.UV:
            return _uv_pip(environment, requirements, upgrade=upgrade)
        case _:
            options = ["--no-input", *(["--upgrade"] if upgrade else [])]
            if environment.kind is EnvironmentKind.USER_SITE:
                options.append("--user")
            return InstallerCommand((*_pip(environment), "install", *options, "--", _core_as_it_is(), *texts))


def uninstall_command(environment: Environment, names: Sequence[str]) -> InstallerCommand:
    """Say how packages are uninstalled.

    Args:
        environment: where from.
        names: of the packages, normalised.
    """
    match environment.kind:
        case EnvironmentKind.UV_TOOL:
            return _without(environment, names)
        case EnvironmentKind.PIPX:
            return _pipx_uninstall(environment, names)
        case EnvironmentKind.UV:
            return _uv_pip_uninstall(environment, names)
        case _:
            return InstallerCommand((*_pip(environment), "uninstall", "--yes", "--no-input", "--", *names))


def _pip(environment: Environment) -> tuple[str, ...]:
    # -P: the directory of the user may hold a file pip.py.
    return str(environment.python), "-P", "-m", "pip"


def _core_as_it_is() -> str:
    """Keep the installer from replacing the program that runs: a plugin for another version is refused instead."""
    return f"{CORE_DISTRIBUTION}=={CORE_VERSION}"


def _uv_pip(
    environment: Environment, requirements: Sequence[PluginRequirement], *, upgrade: bool, note: str = ""
) -> InstallerCommand:
    arguments = ["pip", "install", "--python", str(environment.python), *_uv_upgrades(requirements, upgrade=upgrade)]
    arguments += ["--", _core_as_it_is(), *(each.text for each in requirements)]
    return InstallerCommand((str(environment.installer), *arguments), note=note)


def _uv_upgrades(requirements: Sequence[PluginRequirement], *, upgrade: bool) -> list[str]:
    """Name what is to be upgraded, so that what it needs is left alone, as pip does."""
    options: list[str] = []
    for each in requirements:
        if upgrade and each.name is not None:
            options += ["--upgrade-package", each.name]
            # What comes from a file, a folder or a repository may have changed and kept its version.
            options += ["--reinstall-package", each.name] if each.location is not None else []
    return options


def _uv_pip_uninstall(environment: Environment, names: Sequence[str]) -> InstallerCommand:
    return InstallerCommand(
        (str(environment.installer), "pip", "uninstall", "--python", str(environment.python), "--", *names)
    )


def _uv_tool(environment: Environment, requirements: Sequence[PluginRequirement], *, upgrade: bool) -> InstallerCommand:
    try:
        receipt = read_receipt(environment.prefix / UV_RECEIPT)
    except ForeignReceiptError as error:
        note = f"{error}; after 'uv tool upgrade', which will remove the plugin, run oneclaw plugins sync"
        return _uv_pip(environment, requirements, upgrade=upgrade, note=note)
    replaced = {each.name for each in requirements if each.name is not None}
    added = [option for each in requirements for option in ("--with", each.text)]
    added += _uv_upgrades(requirements, upgrade=upgrade)
    return _uv_tool_install(environment, receipt, replaced, added)


def _without(environment: Environment, names: Sequence[str]) -> InstallerCommand:
    try:
        receipt = read_receipt(environment.prefix / UV_RECEIPT)
    except ForeignReceiptError:
        return _uv_pip_uninstall(environment, names)
    if set(names) <= {each.name for each in receipt.others}:
        return _uv_tool_install(environment, receipt, set(names), [])
    return _uv_pip_uninstall(environment, names)


def _uv_tool_install(
    environment: Environment, receipt: UvReceipt, left_out: set[str], added: Sequence[str]
) -> InstallerCommand:
    arguments = [str(environment.installer), "tool", "install", *receipt.options]
    for other in receipt.others:
        if other.name not in left_out:
            option = "--with-executables-from" if other.are_commands_shown else "--with"
            arguments += ["--with-editable" if other.is_editable else option, other.text]
    arguments += added
    arguments += ["--editable", receipt.tool.text] if receipt.tool.is_editable else [receipt.tool.text]
    environ = {"UV_TOOL_DIR": str(environment.prefix.parent)}
    if receipt.commands_folder is not None:
        environ["UV_TOOL_BIN_DIR"] = str(receipt.commands_folder)
    return InstallerCommand(tuple(arguments), environ)


def _pipx(environment: Environment, verb: str, texts: Sequence[str], *, upgrade: bool = False) -> InstallerCommand:
    options = []
    if verb == "inject":
        # pipx upgrades what it has injected only with its --force; without, it leaves it as it is.
        options += ["--force"] if upgrade else []
        noted = _pip_arguments(environment.prefix)
        options += [f"--pip-args={shlex.join(noted)}"] if noted else []
    arguments = (str(environment.installer), verb, *options, environment.prefix.name, *texts)
    return InstallerCommand(arguments, _pipx_environ(environment))


def _pipx_uninstall(environment: Environment, names: Sequence[str]) -> InstallerCommand:
    injected = set(names) & _injected(environment.prefix)
    if injected == set(names) and _knows_uninject(environment.prefix):
        return _pipx(environment, "uninject", names)
    note = ""
    if injected:
        note = f"this pipx keeps a note of {', '.join(sorted(injected))}; 'pipx reinstall' will bring it back"
    arguments = (str(environment.installer), "runpip", environment.prefix.name, "uninstall", "--yes", *names)
    return InstallerCommand(arguments, _pipx_environ(environment), note)


def _knows_uninject(prefix: Path) -> bool:
    """Tell by the file that it writes; pipx 1.3 has learnt it, Debian 12 and Ubuntu 22.04 have an older one."""
    return _pipx_metadata(prefix).get("pipx_metadata_version") not in ("0.1", "0.2")


def _pipx_environ(environment: Environment) -> dict[str, str]:
    # Whatever is set now, this is where the environment is.
    return {"PIPX_HOME": str(environment.prefix.parent.parent), "USE_EMOJI": "0"}


def _pipx_metadata(prefix: Path) -> dict[str, object]:
    try:
        noted = json.loads((prefix / PIPX_METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _injected(prefix: Path) -> set[str]:
    injected = _pipx_metadata(prefix).get("injected_packages")
    return set(injected) if isinstance(injected, dict) else set()


def _pip_arguments(prefix: Path) -> list[str]:
    """Find what the user has passed on to pip when OneClaw was installed, such as another index."""
    package = _pipx_metadata(prefix).get("main_package")
    noted = package.get("pip_args") if isinstance(package, dict) else None
    return [each for each in noted if isinstance(each, str)] if isinstance(noted, list) else []
