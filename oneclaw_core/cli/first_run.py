"""The first start without a command: offer to set up a model before the chat opens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.output import print_text

if TYPE_CHECKING:
    from oneclaw_core.cli.catalog import HomeCatalog

SETUP_COMMAND = "setup"


def offer_setup(program: click.Group, context: click.Context) -> None:
    """Ask whether to set up a model if none is chosen and no chat was held yet; run the plugin's command for it."""
    from oneclaw_core.cli.catalog import load_catalog

    if not _is_first_run(load_catalog(is_quiet=True)) or SETUP_COMMAND not in program.list_commands(context):
        return
    print_text("Welcome to OneClaw. No model is set up yet; until one is, a small stand-in follows rules.")
    if not click.confirm("Set up a model now?", default=True):
        print_text("Later, this does it: oneclaw setup\n")
        return
    command = program.get_command(context, SETUP_COMMAND)
    assert command is not None
    with command.make_context(SETUP_COMMAND, [], parent=context) as setup:
        command.invoke(setup)
    print_text("")


def _is_first_run(catalog: HomeCatalog) -> bool:
    from oneclaw_core.config.providers import PROVIDER_SETTING, default_model

    settings = catalog.states.settings
    is_chosen = default_model(settings, os.environ)[1] != "default"
    has_own = any(key.startswith(PROVIDER_SETTING) for key in settings)
    return not is_chosen and not has_own and catalog.states_error is None and not catalog.home.chat_history.exists()
