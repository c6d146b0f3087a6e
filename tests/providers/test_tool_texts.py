import gc

import pytest

from oneclaw_core.providers import wire
from oneclaw_core.providers.wire import ToolLists, ToolTexts
from oneclaw_core.tools.definition import ToolDefinition

FIND, READ = ToolDefinition("find", "Finds."), ToolDefinition("read", "Reads.")


@pytest.fixture
def written():
    return []


@pytest.fixture
def texts(written):
    def write(definition):
        written.append(definition.name)
        return f"<{definition.name}>"

    return ToolTexts(write)


def test_each_tool_is_written_once(texts, written):
    assert [texts.of(each) for each in (FIND, READ, FIND)] == ["<find>", "<read>", "<find>"]
    assert written == ["find", "read"]


def test_a_definition_that_is_gone_leaves_its_text_to_no_other(texts):
    for number in range(50):
        assert texts.of(ToolDefinition(f"tool_{number}", "T.")) == f"<tool_{number}>"
        gc.collect(0)


def test_what_is_kept_does_not_grow_for_ever(texts, written, monkeypatch):
    monkeypatch.setattr(wire, "_MOST_KEPT", 2)
    for each in (FIND, READ, ToolDefinition("third", "T."), FIND):
        assert texts.of(each) == f"<{each.name}>"
    assert written == ["find", "read", "third", "find"]


def test_a_list_is_compact_json():
    lists = ToolLists(lambda definition: {"name": definition.name, "ä": 1})
    assert lists.text([FIND, READ]) == '[{"name":"find","ä":1},{"name":"read","ä":1}]'
    assert lists.text([]) == "[]"
