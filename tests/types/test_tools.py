"""Which tools a selection allows, alone and within others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core import ToolSelection
from oneclaw_core.types.tools import ALL_TOOLS

names = st.sampled_from(["a", "b", "c", "d"])
groups = st.sampled_from(["g", "h"])
some = st.none() | st.frozensets(names)
selections = st.builds(ToolSelection, some, st.none() | st.frozensets(groups))
tools = st.tuples(names, st.none() | groups)


@pytest.mark.parametrize(
    ("selection", "allowed"),
    [
        (ToolSelection(), {"core", "pdf_info", "drive_list"}),
        (ToolSelection(groups=frozenset()), {"core"}),
        (ToolSelection(frozenset()), {"pdf_info", "drive_list"}),
        (ToolSelection(None, frozenset({"pdf"})), {"core", "pdf_info"}),
        (ToolSelection(frozenset({"pdf_info"}), frozenset()), {"pdf_info"}),
        (ToolSelection(frozenset({"core"}), frozenset({"drive"})), {"core", "drive_list"}),
        (ToolSelection(frozenset(), frozenset()), set()),
    ],
)
def test_what_a_selection_allows(selection, allowed):
    there_are = {"core": None, "pdf_info": "pdf", "drive_list": "drive"}
    assert {name for name, group in there_are.items() if selection.allows(name, group)} == allowed


@given(selections, selections, selections, tools)
def test_narrowed_selections_allow_what_all_of_them_allow(one, two, three, tool):
    both = one.narrowed_to(two)
    assert both.allows(*tool) == (one.allows(*tool) and two.allows(*tool))
    for each in (both.narrowed_to(three), one.narrowed_to(two.narrowed_to(three))):
        assert each.allows(*tool) == (both.allows(*tool) and three.allows(*tool))


@given(selections, selections, groups)
def test_a_whole_group_is_allowed_if_each_of_its_tools_would_be(one, two, group):
    both = one.narrowed_to(two)
    assert both.allows_whole_group(group) == (both.allows("a tool of which no one knows", group))


@given(selections)
def test_everything_narrows_nothing(selection):
    assert selection.narrowed_to(ALL_TOOLS) == ALL_TOOLS.narrowed_to(selection) == selection
    assert selection.narrowed_to(selection) == selection


def test_what_is_not_named_is_not_selected():
    assert ToolSelection.naming() == ALL_TOOLS
    assert ToolSelection.naming(["a"]) == ToolSelection(frozenset({"a"}), frozenset())
    assert ToolSelection.naming(None, ["g"]) == ToolSelection(frozenset(), frozenset({"g"}))
    assert ToolSelection.naming(["*"], ["g"]) == ToolSelection(None, frozenset({"g"}))
    assert ToolSelection.naming(["*"], ["*"]) == ALL_TOOLS
    assert ToolSelection.naming([], []) == ToolSelection(frozenset(), frozenset())
