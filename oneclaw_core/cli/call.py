"""``oneclaw call``: one tool, outside a conversation."""

from __future__ import annotations

import click

from oneclaw_core.cli.event_loop import run_async
from oneclaw_core.cli.options import allow_option
from oneclaw_core.cli.output import is_terminal, print_json, reserved_stdout
from oneclaw_core.cli.run import read_stdin


@click.command()
@allow_option
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.pass_context
def call(context: click.Context, tool: str, arguments: str, allow: tuple[str, ...]) -> None:
    """Run one tool as a model would, and print its result as JSON.

    JSON is an object with the tool's arguments; - reads it from standard input. Tools of all groups can be called.
    The exit status is 1 if the tool did not do what it was asked.
    """
    text = read_stdin() if arguments == "-" else arguments
    with reserved_stdout() as stdout:
        document = run_async(_call(tool, text, allow))
        print_json(document, indent=2 if is_terminal(stdout) else None, stream=stdout)
    if document["status"] != "success":
        context.exit(1)


async def _call(tool: str, arguments: str, allow: tuple[str, ...]) -> dict[str, object]:
    from oneclaw_core.cli.asking import terminal_asker
    from oneclaw_core.cli.permission_names import open_allowing

    async with open_allowing(allow, terminal_asker()) as claw:
        outcome = await claw.call_tool(tool, arguments, caller="command line")
        return outcome.result.to_dict()
