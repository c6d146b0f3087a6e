"""CachePrefixes of what requests begin with."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

from oneclaw_core.models.spending import CachePrefixes
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition


def definition(name: str, description: str = "does it", **parameters: Any) -> ToolDefinition:
    return ToolDefinition(name=name, description=description, parameters={"type": "object", "properties": parameters})


def message(sequence: int | None, content: str = "text") -> Message:
    return Message(type=MessageType.USER, content=content, sequence=sequence)


CORE = (definition("read_file"), definition("load_tool_group"))
PDF = LoadedGroup("pdf", (definition("pdf_info"),))
REQUEST = ModelRequest(
    model="m",
    system_prompt="Be helpful.",
    messages=(message(3), message(4)),
    tools=ActiveTools(core=CORE),
    session_id="s",
)


def changed_parts(before: ModelRequest, after: ModelRequest, *, are_groups_at_front: bool = True) -> set[str]:
    # Two of them, as in two processes.
    first, second = (
        CachePrefixes().of(request, are_groups_at_front=are_groups_at_front) for request in (before, after)
    )
    return {part for part in ("tools", "system_prompt", "history") if getattr(first, part) != getattr(second, part)}


def test_what_is_added_at_the_end_changes_nothing() -> None:
    longer = replace(REQUEST, messages=(*REQUEST.messages, message(5), message(9)))
    assert changed_parts(REQUEST, longer) == set()


def test_a_group_changes_the_tools_only_where_it_stands_at_the_front() -> None:
    loaded = replace(REQUEST, tools=ActiveTools(core=CORE, groups=(PDF,)))
    assert changed_parts(REQUEST, loaded) == {"tools"}
    assert changed_parts(REQUEST, loaded, are_groups_at_front=False) == set()


def test_each_part_tells_of_its_own_change() -> None:
    def with_core(*core: ToolDefinition) -> ModelRequest:
        return replace(REQUEST, tools=ActiveTools(core=core))

    assert changed_parts(REQUEST, replace(REQUEST, system_prompt="Be brief.")) == {"system_prompt"}
    assert changed_parts(REQUEST, with_core(*reversed(CORE))) == {"tools"}
    assert changed_parts(REQUEST, with_core(definition("read_file", "is another"), CORE[1])) == {"tools"}
    assert changed_parts(REQUEST, with_core(definition("read_file", path={}), CORE[1])) == {"tools"}
    assert changed_parts(REQUEST, with_core(definition("read_file"), CORE[1])) == set()
    assert changed_parts(REQUEST, replace(REQUEST, messages=(message(4),))) == {"history"}


def test_a_summary_is_a_part_of_the_history() -> None:
    summarized = replace(REQUEST, messages=(message(None, "summary"), message(4)))
    assert changed_parts(REQUEST, summarized) == {"history"}
    assert changed_parts(summarized, replace(REQUEST, messages=(message(None, "another"), message(4)))) == {"history"}
    assert changed_parts(summarized, replace(summarized, messages=(*summarized.messages, message(5)))) == set()
    assert changed_parts(replace(REQUEST, messages=()), replace(REQUEST, messages=())) == set()


def test_text_that_cannot_be_encoded_does_no_harm() -> None:
    strange = replace(REQUEST, system_prompt="\ud800", messages=(message(None, "\ud800"),))
    assert changed_parts(strange, strange) == set()


def test_one_that_remembers_tools_says_the_same() -> None:
    fingerprints = CachePrefixes()
    found = {fingerprints.of(REQUEST, are_groups_at_front=True) for _ in range(3)}
    assert found == {CachePrefixes().of(REQUEST, are_groups_at_front=True)}


def test_fingerprints_stay_the_same_over_versions() -> None:
    # They are compared with those that are stored.
    summarized = replace(REQUEST, messages=(message(None, "summary"), message(4)))
    found = [CachePrefixes().of(each, are_groups_at_front=True) for each in (REQUEST, summarized)]
    found.append(CachePrefixes().of(replace(REQUEST, messages=()), are_groups_at_front=True))
    assert [each.history for each in found] == ["3", "4:caeb819f5ec5c5df", "None"]
    assert (found[0].tools, found[0].system_prompt) == ("01dc926aeb7d0df6", "1a8b8c47a591faec")


def test_tools_that_are_gone_are_forgotten() -> None:
    fingerprints = CachePrefixes()
    seen: list[weakref.ref[ToolDefinition]] = []
    for number in range(99):
        request = replace(REQUEST, tools=ActiveTools(core=(definition(f"tool{number}"),)))
        seen += map(weakref.ref, request.tools.core)
        assert fingerprints.of(request, are_groups_at_front=True) == CachePrefixes().of(
            request, are_groups_at_front=True
        )
    assert sum(each() is not None for each in seen) < 20
