"""`oneclaw setup`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core import UsageError
from oneclaw_core.cli import is_terminal, print_text

if TYPE_CHECKING:
    from pathlib import Path


@click.group(invoke_without_command=True)
@click.option("--provider", metavar="NAME", help="The service, such as openai, ollama or openrouter.")
@click.option("--base-url", metavar="URL", help="The address of a service that is not in the list.")
@click.option(
    "--type", "type_name", metavar="TYPE", help="The wire format of such a service; openai_compatible without it."
)
@click.option("--model", metavar="MODEL", help="The model to use by default.")
@click.option("--key-from-env", "key_variable", metavar="NAME", help="Take the key from an environment variable.")
@click.option("--yes", "says_yes", is_flag=True, help="Do not ask, and store it if the test succeeds.")
@click.option("--no-test", is_flag=True, help="Send no request.")
@click.pass_context
def setup(
    context: click.Context,
    provider: str | None,
    base_url: str | None,
    type_name: str | None,
    model: str | None,
    key_variable: str | None,
    says_yes: bool,
    no_test: bool,
) -> None:
    """Choose a model, test it with one request, and store its configuration.

    You can run it again; it keeps what you have. Nothing is stored before the last question, so Ctrl-C changes nothing.
    The key of --key-from-env stays in the environment if the service reads that variable by itself; otherwise it goes
    to the secret store.
    """
    if context.invoked_subcommand is not None:
        return
    from oneclaw_setup.wizard import Given, set_up_model

    may_ask = is_terminal(sys.stdin) and not says_yes
    if not may_ask and not says_yes:
        raise UsageError("there is no terminal to ask at: say what to store with options, and add --yes")
    if may_ask and provider is None:
        _offer_imports()
    given = Given(provider, type_name, base_url, model, key_variable, says_yes, not no_test)
    stored = set_up_model(given, may_ask=may_ask)
    if may_ask and stored is not None:
        _go_on()


def _offer_imports() -> None:
    from oneclaw_setup.asking import confirm
    from oneclaw_setup.imports.sources import find_all
    from oneclaw_setup.imports.taking import go_through

    found = [each for each in find_all() if each.is_any]
    for each in found:
        if confirm(f"{each.title} was used here ({each.folder}). Look at what can be taken over?", default=False):
            go_through(each, says_yes=False)


def _go_on() -> None:
    from oneclaw_setup.completion import offer_installation
    from oneclaw_setup.plugin_settings import ask_settings, report_problems

    ask_settings()
    report_problems()
    offer_installation()
    print_text("Ready. oneclaw opens the chat; oneclaw setup changes the choice.")


@setup.command("import")
@click.argument("source", required=False)
@click.option("--path", type=click.Path(path_type=None), help="The folder of that assistant, if it is elsewhere.")
@click.option("--list", "only_lists", is_flag=True, help="Show the findings, and import nothing.")
@click.option("--yes", "says_yes", is_flag=True, help="Import everything without asking.")
def import_from(source: str | None, path: str | None, only_lists: bool, says_yes: bool) -> None:
    """Import from another assistant.

    It imports providers, keys, models, skills and notes, and MCP servers as oneclaw mcp import does.

    SOURCE is hermes, nanobot, llm, claude or codex; by default all that are found. It shows the findings first, without
    keys. Nothing that you have is replaced, and nothing is run.
    """
    from oneclaw_setup.imports.mcp_servers import offer_servers
    from oneclaw_setup.imports.sources import SOURCES, find_all, find_in
    from oneclaw_setup.imports.taking import go_through, show

    if source is not None and source not in SOURCES:
        raise UsageError(f"{source!r} is no assistant that is known; there are: {', '.join(SOURCES)}")
    if path is not None and source is None:
        raise UsageError("--path needs the name of the assistant whose folder it is")
    found = find_all() if source is None else [find_in(source, None if path is None else _path(path))]
    found = [each for each in found if each.is_any or each.problems]
    if not found:
        where = "no other assistant" if source is None else f"nothing of {source}"
        print_text(f"{where} was found" + ("" if path is None else f" in {path}"))
        return
    if not (only_lists or says_yes or is_terminal(sys.stdin)):
        raise UsageError("there is no terminal to ask at: add --list to look, or --yes to take all")
    for each in found:
        if only_lists:
            show(each)
            offer_servers(each, says_yes=False, only_lists=True)
        else:
            go_through(each, says_yes=says_yes)


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text).expanduser().absolute()
