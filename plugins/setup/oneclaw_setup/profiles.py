"""`oneclaw profiles`."""

from __future__ import annotations

import click

from oneclaw_core import find_home
from oneclaw_core.cli import find_profiles, json_option, print_json, print_table, print_text


@click.group()
def profiles() -> None:
    """List the profiles.

    `oneclaw --profile NAME COMMAND`, or the environment variable ONECLAW_PROFILE, uses a profile: a separate home, with
    its own sessions, keys, settings, memory and skills. It is created when something is stored in it.
    """


@profiles.command("list")
@json_option
def list_profiles(as_json: bool) -> None:
    """List the profiles, and mark the one in use."""
    current = find_home()
    rows = [(name, str(path), name == current.profile) for name, path in find_profiles().items()]
    if as_json:
        print_json([{"name": name, "home": home, "is_current": is_current} for name, home, is_current in rows])
        return
    if rows:
        print_table(("profile", "home", ""), [(name, home, "in use" if used else "") for name, home, used in rows])
    else:
        print_text("there are no profiles; make one with: oneclaw --profile NAME setup")
    if current.profile is None:
        print_text(f"no profile is in use; the home is {current.path}")
