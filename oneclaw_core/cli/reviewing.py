"""`oneclaw plugins review`: show what a plugin may do beyond what was reviewed, and ask."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core.capabilities.page import page_lines
from oneclaw_core.capabilities.record import user_reviews
from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.output import is_terminal, json_option, print_json, print_text, printable
from oneclaw_core.config.user_choices import sandbox_setting
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.installation.origins import PluginOrigins, normalised
from oneclaw_core.installation.package_contents import package_of
from oneclaw_core.installation.review_pages import seen_plugins
from oneclaw_core.installation.reviewing import is_ours, reviewed_package
from oneclaw_core.plugins.cache import PluginCache, cache_path
from oneclaw_core.plugins.installed import find_installed
from oneclaw_core.plugins.loading import discover
from oneclaw_core.shipped.missing import similar_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from oneclaw_core.capabilities.page import ReviewedPlugin
    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.installation.sandboxed_look import Look
    from oneclaw_core.plugins.plugin import Plugin


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
    plugins = _named(name)
    seen = _seen(catalog, plugins, needs_sandbox=not without_sandbox)
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
    accept(catalog, plugins, seen)
    if not as_json:
        is_accepted = is_new or any(each.name in _unreviewed(catalog) for each in plugins)
        print_text(f"{package_of(plugins[0])} is reviewed" if is_accepted else "there is nothing to accept")


def accept(catalog: HomeCatalog, plugins: Sequence[Plugin], seen: Iterable[ReviewedPlugin]) -> None:
    """Note what the user has accepted of the plugins of a package.

    Raises:
        OneClawError: that cannot be written.
    """
    found = {each.name: each.capabilities for each in seen}
    package = package_of(plugins[0])
    user_reviews().note(package, reviewed_package(plugins[0], found))
    if catalog.home.path.is_dir():
        PluginOrigins(catalog.home).accept(plugins, {package})


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


def _seen(catalog: HomeCatalog, plugins: Sequence[Plugin], *, needs_sandbox: bool) -> list[ReviewedPlugin]:
    from oneclaw_core.installation.sandboxed_look import Look, look_at

    cache = PluginCache(cache_path())
    unknown = {each.target for each in cache.unknown(plugins)}
    missing = [each for each in plugins if each.name in _unreviewed(catalog) or each.target in unknown]
    looks = {each.target: cache.known(each) for each in plugins if each not in missing}
    unseen = ""
    if missing:
        setting = sandbox_setting(catalog.states.settings, os.environ)
        look = look_at(missing, None, setting, needs_sandbox=needs_sandbox)
        looks, unseen = {**looks, **look.plugins}, look.unseen
    return seen_plugins(plugins, None, Look(looks, unseen), user_reviews().read())


def _unreviewed(catalog: HomeCatalog) -> set[str]:
    return {each.name for each in catalog.plugins if each.status == "not reviewed"}


def look_at_unpacked(folder: Path) -> Look:
    """Look at plugins that are not installed, in the sandbox that the settings choose.

    Args:
        folder: with the packages, as they would be in ``site-packages``.
    """
    from oneclaw_core.installation.sandboxed_look import Look, look_at

    plugins = find_installed([str(folder)])
    if not plugins:
        return Look()
    setting = sandbox_setting(load_catalog(is_quiet=True).states.settings, os.environ)
    return look_at(plugins, folder, setting)
