"""`oneclaw plugins review` and `accept`: see what a plugin may do, and accept it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core import NotFoundError, OneClawError, UsageError, find_home
from oneclaw_core.capabilities import user_reviews
from oneclaw_core.cli import is_terminal, json_option, load_catalog, print_json, print_text, printable, similar_names
from oneclaw_core.installation import PluginOrigins, is_ours, package_of, reviewed_package
from oneclaw_core.plugins import discover, normalised
from oneclaw_devtools.reviewing.page import page_lines
from oneclaw_devtools.reviewing.sandboxed_look import look_at_installed
from oneclaw_devtools.reviewing.seen_plugins import seen_plugins

if TYPE_CHECKING:
    from oneclaw_core.cli import HomeCatalog
    from oneclaw_core.plugins import Plugin


@click.command("review", short_help="Review what a plugin may do.")
@click.argument("name")
@click.option("--accept", "is_accepted", is_flag=True, help="Accept all of it without a question.")
@click.option("--without-sandbox", is_flag=True, help="If there is no sandbox, import it without one.")
@json_option
def review(name: str, is_accepted: bool, without_sandbox: bool, as_json: bool) -> None:
    """Review what a plugin may do, and accept it.

    NAME is a plugin or its package. What you have accepted before is not shown again. What goes beyond it is withheld
    until you accept it.
    """
    catalog = load_catalog(is_quiet=True)
    installed = _named(name)
    look = look_at_installed(installed, _unreviewed(catalog), needs_sandbox=not without_sandbox)
    seen = seen_plugins(installed, None, look, user_reviews().read())
    if as_json:
        print_json([each.to_dict() for each in seen])
    else:
        print_text("\n".join(map(printable, page_lines(seen))))
    unseen = next((each.unseen for each in seen if each.unseen), "")
    if unseen and not without_sandbox:
        raise OneClawError(f"not looked at: {unseen}; to import it without a sandbox: add --without-sandbox")
    is_new = any(each.new or each.reviewed is None for each in seen)
    if as_json and not is_accepted:
        return
    if is_new and not is_accepted:
        if not is_terminal(sys.stdin):
            raise UsageError("no one can be asked here: to accept it, add --accept")
        if not click.confirm("Accept this?", default=False, err=True):
            raise OneClawError("nothing was accepted")
    package = package_of(installed[0])
    user_reviews().note(package, reviewed_package(installed[0], {each.name: each.capabilities for each in seen}))
    if catalog.home.path.is_dir():
        PluginOrigins(catalog.home).accept(installed, {package})
    if not as_json:
        is_accepted = is_new or any(each.name in _unreviewed(catalog) for each in installed)
        print_text(f"{package} is reviewed" if is_accepted else "there is nothing to accept")


def _named(name: str) -> list[Plugin]:
    installed = discover()
    found = [each for each in installed if name == each.name or normalised(name) == package_of(each)]
    if not found:
        close = similar_names(name, [each.name for each in installed])
        hint = f"did you mean {close}?" if close else "oneclaw plugins list shows all"
        raise NotFoundError(f"no plugin {name!r} is installed; {hint}")
    if is_ours(found[0]):
        raise UsageError(f"{package_of(found[0])} is a distribution of OneClaw: it needs no review")
    return [each for each in installed if package_of(each) == package_of(found[0])]


def _unreviewed(catalog: HomeCatalog) -> set[str]:
    return {each.name for each in catalog.plugins if each.status == "not reviewed"}


@click.command("accept")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "is_all", is_flag=True, help="All plugins, as they are installed now.")
def accept(names: tuple[str, ...], is_all: bool) -> None:
    """Accept plugins that were installed or changed by something else.

    NAME is a plugin or its package. 'oneclaw plugins list' reports a package that is new, or whose files changed while
    its version did not, until it is accepted.
    """
    if is_all == bool(names):
        raise UsageError("name the plugins to accept, or give --all")
    installed = [each for each in load_catalog(is_quiet=True).plugins if each.is_installed]
    packages = {package: package for package in map(package_of, installed)}
    packages |= {each.name: package_of(each) for each in installed}
    unknown = [each for each in names if normalised(each) not in packages and each not in packages]
    if unknown:
        raise NotFoundError(f"no plugin {unknown[0]!r} is installed; oneclaw plugins list shows all")
    accepted = {packages.get(each) or packages[normalised(each)] for each in names} or set(packages.values())
    home = find_home()
    home.create()
    PluginOrigins(home).accept(installed, accepted)
    print_text(f"accepted as installed: {', '.join(sorted(accepted))}")
