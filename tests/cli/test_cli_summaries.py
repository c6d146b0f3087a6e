"""The lists of commands that ``--help`` shows."""

import click
import pytest

from oneclaw_core.cli.main import command_line

_WIDTH = 78  # of click's help in a terminal of 80 columns


@pytest.mark.long
def test_no_summary_of_a_command_is_cut(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))
    line = command_line()
    context = click.Context(line)
    groups = [
        command
        for name in line.list_commands(context)
        if isinstance(command := line.get_command(context, name), click.Group)
    ]
    assert {"tools", "tasks", "google"} <= {group.name for group in groups}
    for group in groups:
        formatter = click.HelpFormatter(width=_WIDTH)
        group.format_commands(click.Context(group), formatter)
        assert [line for line in formatter.getvalue().splitlines() if line.endswith("...")] == []
