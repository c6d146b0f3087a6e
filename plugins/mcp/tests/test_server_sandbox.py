"""The sandbox of a server: what it is given and does not see is asked for, and told with results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from mcp_homes import McpHome, plain
from oneclaw_mcp import commands
from oneclaw_mcp.commands import mcp
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.results import is_empty
from oneclaw_mcp.sandboxing import Sandbox, candidates, derived_sandbox

from oneclaw_core.process import choose_sandbox

if TYPE_CHECKING:
    from pytest_oneclaw import HomeFactory

    from oneclaw_core import Home


def given(*arguments: str, **environment: str) -> list[tuple[str, str]]:
    return [(each.path, each.place) for each in candidates(("x", *arguments), environment, Sandbox())]


def test_paths_are_found_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(tmp_path)
    monkeypatch.setenv("PLACE", f"{here}/env")
    assert given(f"--db={here}/new.db") == [(f"{here}/new.db", "--db")]
    assert given("--root", f"{here}/a", f"DATA={here}/b") == [(f"{here}/a", "--root"), (f"{here}/b", "DATA")]
    assert given(f"sqlite:///{here.lstrip('/')}/x.db?mode=ro") == [(f"{here}/x.db", "argument 1")]
    assert given(f"sqlite:///{here}/y%20z.db", f"file://{here}/f") == [
        (f"{here}/y z.db", "argument 1"),
        (f"{here}/f", "argument 2"),
    ]
    assert given(PATHS=f"{here}/a:{here}/b", MEMORY_FILE_PATH="${env:PLACE}") == [
        (f"{here}/a", "PATHS"),
        (f"{here}/b", "PATHS"),
        (f"{here}/env", "MEMORY_FILE_PATH"),
    ]
    assert given("--level=3", "https://example.com/a/b", "//x", "/", "--cert=/etc/ssl/cert.pem", "/dev/null") == []
    assert candidates(("x", here), {}, Sandbox(writes=(here,))) == []
    (found,) = candidates(("x", f"--db={Path.home()}"), {}, Sandbox())
    assert found.directory is None  # it holds too much


def test_add_asks_for_what_a_server_is_given(
    oneclaw_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["add", "plain", "--no-start", "--env", f"DATA={tmp_path}/new.db", "--", *plain()]
    told = CliRunner().invoke(mcp, command, catch_exceptions=False).output
    assert f"it does not see {tmp_path}/new.db (DATA); to let it write there: --write {tmp_path}" in told
    CliRunner().invoke(mcp, ["remove", "plain"], catch_exceptions=False)
    asked: list[str] = []
    monkeypatch.setattr(commands, "_is_agreed", lambda question: asked.append(question) or True)
    added = CliRunner().invoke(mcp, command, catch_exceptions=False).output
    assert asked == [
        f"It is given {tmp_path}/new.db (DATA), which its sandbox does not show. May it write to {tmp_path}?"
    ]
    assert f"in a sandbox: writes {tmp_path}" in added


def test_sandbox_is_shown_and_widened(oneclaw_home: Home, tmp_path: Path) -> None:
    command = ["add", "plain", "--no-start", "--env", f"DATA={tmp_path}/new.db", "--", *plain()]
    CliRunner().invoke(mcp, command, catch_exceptions=False)
    shown = CliRunner().invoke(mcp, ["sandbox", "plain"], catch_exceptions=False).output
    assert f"does not see {tmp_path}/new.db (DATA)" in shown
    made = CliRunner().invoke(mcp, ["sandbox", "plain", "--write", str(tmp_path), "--network", "none"]).output
    assert f"writes {tmp_path}\nhas no network\n" in made
    assert "does not see" not in made
    listed = json.loads(CliRunner().invoke(mcp, ["show", "plain", "--json"]).output)
    assert listed["sandbox"]["write"] == [str(tmp_path)]


def test_adding_a_server_names_the_gaps_of_the_sandbox(oneclaw_home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose_sandbox("landlock")
    if chosen.backend is None:
        pytest.skip(chosen.strength.reason)
    monkeypatch.setenv("ONECLAW_SANDBOX", "landlock")
    added = CliRunner().invoke(mcp, ["add", "plain", "--no-start", "--", *plain()], catch_exceptions=False).output
    assert f"the sandbox landlock is incomplete: {'; '.join(chosen.strength.gaps)}" in added


@pytest.mark.parametrize(
    ("value", "is_nothing"),
    [
        ("", True),
        ('{"entities": [], "relations": []}', True),
        ({"entities": [], "more": {"text": " "}}, True),
        ([], True),
        ("null", False),
        (0, False),
        (False, False),
        ({"count": 0}, False),
        ("none", False),
    ],
)
def test_result_that_holds_nothing_is_recognized(value: object, is_nothing: bool) -> None:
    assert is_empty(value) is is_nothing


@pytest.mark.needs("bubblewrap")
def test_failed_and_empty_results_tell_what_the_server_sees(oneclaw_factory: HomeFactory, tmp_path: Path) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.plain.*"]))
    sandbox = derived_sandbox(plain(), None, (sys.base_prefix, sys.prefix), (), has_network=True)
    home.add("plain", environment={"DATA": f"{tmp_path}/memory.json"}, sandbox=sandbox)
    note = f"It does not see {tmp_path}/memory.json. The user can let it use more with: oneclaw mcp sandbox plain"
    empty = home.call("plain__content", content=[], structuredContent={"entities": []})
    assert empty.is_success
    assert str(empty.result).startswith('{"entities":[]}\n[The MCP server plain runs in a sandbox.')
    assert note in str(empty.result)
    failed = home.call("plain__content", content=[{"type": "text", "text": "ENOENT"}], isError=True)
    assert str(failed.error_message).startswith("ENOENT\n[The MCP server plain")
    assert home.call("plain__echo", text="hi").result == "hi"
    with pytest.raises(ServerError, match=r"(?s)no licence was found.*\[The MCP server odd runs in a sandbox"):
        home.add("odd", *plain("exits"), sandbox=sandbox)
