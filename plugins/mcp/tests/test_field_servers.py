"""What MCP servers of today send, as `field/README.md` says: each part is used, or left out with its reason."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from how_long import some
from mcp_homes import HERE, McpHome, plain
from oneclaw_mcp.cleaning import foreign_faults, read_schema
from oneclaw_mcp.messages import read_messages
from pytest_oneclaw import HomeUnderTest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_oneclaw import HomeFactory

FIELD = HERE / "field"


@dataclass(frozen=True)
class Observation:
    """A file, and what is right."""

    path: Path
    right: dict[str, Any]


def observations() -> list[Observation]:
    return [
        Observation(table.parent / name, right)
        for table in sorted(FIELD.glob("*/right.toml"))
        for name, right in tomllib.loads(table.read_text("utf-8")).items()
    ]


def of_kind(kind: str, step: int = 1) -> pytest.MarkDecorator:
    found = some([each for each in observations() if each.right["kind"] == kind], step)
    return pytest.mark.parametrize("observed", found, ids=[each.path.stem for each in found])


def test_every_file_has_a_line_with_its_public_source() -> None:
    files = {path for path in FIELD.glob("*/*") if path.name != "right.toml"}
    assert {each.path for each in observations()} == files
    assert [each.path for each in observations() if not each.right["source"].startswith("https://")] == []
    assert {each.right["kind"] for each in observations()} == {"messages", "tools", "schema", "result"}


@of_kind("messages")
def test_messages_are_read_and_noise_is_not(observed: Observation) -> None:
    read = [shown(each) for line in observed.path.read_bytes().split(b"\n") for each in read_messages(line)]
    assert len(read) == len(observed.right["read"])
    assert [text.startswith(right) for text, right in zip(read, observed.right["read"], strict=True)] == [True] * len(
        read
    )
    json.dumps(read).encode()


def shown(message: dict[str, Any]) -> str:
    if "method" in message:
        return str(message["method"])
    error = message.get("error")
    return f"{message['id']} error {error['code']} {error['message']}" if error else f"{message['id']} result"


@of_kind("schema")
def test_schema_is_read_by_its_dialect(observed: Observation) -> None:
    document = json.loads(observed.path.read_text("utf-8"))
    _, problems = read_schema(document["schema"])
    assert len(problems) == observed.right["problems"], problems
    assert [foreign_faults(document["schema"], each) for each in document["fit"]] == [[]] * len(document["fit"])
    assert [each for each in document["misfit"] if not foreign_faults(document["schema"], each)] == []


@of_kind("tools", 9)
def test_each_tool_of_a_list_is_judged_alone(
    observed: Observation, oneclaw_factory: HomeFactory, tmp_path: Path
) -> None:
    home = McpHome(oneclaw_factory(["mcp"]))
    manifest = home.add("plain", *plain(f"answer_tools={observed.path}"))
    assert manifest is not None
    assert [each.wire for each in manifest.tools] == observed.right["tools"]
    reasons = dict(manifest.refused)
    for name, words in observed.right.get("left_out", {}).items():
        assert words in reasons[name]


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpHome]:
    """A home with a server that returns what it is given."""
    folder = tmp_path_factory.mktemp("field")
    (folder / "project").mkdir()
    oneclaw = HomeUnderTest(folder / "home", folder / "project", ["mcp"], allow=["mcp.plain.*"])
    home = McpHome(oneclaw)
    home.add("plain")
    yield home
    oneclaw.close()


@of_kind("result")
def test_useful_part_of_a_result_reaches_the_model(observed: Observation, caller: McpHome) -> None:
    result = caller.call("plain__content", **json.loads(observed.path.read_text("utf-8")))
    right = observed.right
    assert result.is_success is ("error" not in right)
    if "value" in right:
        assert result.result == right["value"]
    assert [words for words in right.get("text", ()) if words not in str(result.result)] == []
    assert [words for words in right.get("error", ()) if words not in str(result.error_message)] == []
    assert [each.media_type for each in result.attachments] == ([right["picture"]] if "picture" in right else [])
