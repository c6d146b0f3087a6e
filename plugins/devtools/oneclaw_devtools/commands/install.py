"""`oneclaw plugins install`, `upgrade` and `uninstall`."""

from __future__ import annotations

import click

from oneclaw_core import ProtectedError, UsageError
from oneclaw_core.cli import json_option, print_text
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION
from oneclaw_devtools.installing.installed import find_package, parse_packages, require_plugin
from oneclaw_devtools.installing.installer import Installer
from oneclaw_devtools.installing.requirement import parse_name

yes_option = click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
_shadowing_option = click.option(
    "--allow-shadowing",
    "shadowing",
    multiple=True,
    metavar="NAME",
    help="Give NAME, such as that of a tool, to the new package though another one has it. Can be repeated.",
)


_build_option = click.option(
    "--allow-build",
    "built",
    multiple=True,
    metavar="NAME",
    help="Build the package NAME from its source, which runs its code. Can be repeated.",
)


@click.command("install")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_shadowing_option
@_build_option
@yes_option
@json_option
def install(
    packages: tuple[str, ...],
    shadowing: tuple[str, ...],
    built: tuple[str, ...],
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Install plugins into the environment that OneClaw runs in.

    PACKAGE is a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', the path of a wheel or project, or 'NAME @ URL'. The
    home records what is installed, so that 'oneclaw plugins sync' can restore it.

    Nothing is installed if a package registers a name, such as that of a tool, that belongs to another one. Before the
    question, one page shows what each plugin may do: its wheel is read, and it is looked at in a sandbox. What has to
    be built from source is asked for before.
    """
    installer = Installer(is_confirmed=is_confirmed, shadowing=shadowing, built=built, as_json=as_json)
    wanted = parse_packages(packages)
    installer.install("Install", [(wanted, installer.resolve(wanted))])


@click.command("upgrade", short_help="Install newer versions of plugins.")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--all", "is_all", is_flag=True, help="Everything that was installed by 'oneclaw plugins install'.")
@_shadowing_option
@_build_option
@yes_option
@json_option
def upgrade(
    packages: tuple[str, ...],
    is_all: bool,
    shadowing: tuple[str, ...],
    built: tuple[str, ...],
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Install the newest versions of plugins that are compatible with this OneClaw."""
    if is_all == bool(packages):
        raise UsageError("name the packages to upgrade, or give --all")
    installer = Installer(is_confirmed=is_confirmed, shadowing=shadowing, built=built, as_json=as_json)
    recorded = installer.recorded
    texts = [each.requirement for each in recorded.values()]
    if packages:
        wanted = parse_packages(packages)
        for each in wanted:
            if each.name not in recorded:
                require_plugin(each.name)
        # A name alone stands for what the user gave when installing it.
        is_again = [each.text == each.name and each.name in recorded for each in wanted]
        texts = [
            recorded[each.name].requirement if again else each.text
            for each, again in zip(wanted, is_again, strict=True)
        ]
    if not texts:
        print_text("nothing was installed by 'oneclaw plugins install'")
        return
    wanted = parse_packages(texts)
    installer.install("Upgrade", [(wanted, installer.resolve(wanted, upgrade=True))])


@click.command("uninstall")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@yes_option
def uninstall(packages: tuple[str, ...], is_confirmed: bool) -> None:
    """Uninstall plugins, by the names of their packages."""
    installer = Installer(is_confirmed=is_confirmed)
    names = list(dict.fromkeys(map(parse_name, packages)))
    for name in names:
        if name == CORE_DISTRIBUTION:
            raise ProtectedError(f"{CORE_DISTRIBUTION} is OneClaw itself: uninstall it with what installed it")
        if name not in installer.recorded or find_package(name):
            require_plugin(name)
    installer.uninstall(names)
