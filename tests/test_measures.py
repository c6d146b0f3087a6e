"""The size of the core and of its parts; `python release/measures.py` prints all measures."""

from functools import cache

import measures

CORE_LINES = 37_000
SPINE_LINES = 6_900  # without plugins
PLUGINS_LINES = 3_200
PATH = ("cache", "catalog", "compatibility", "installed", "loading", "manager", "plugin")
"""The modules of `plugins` on the path from an entry point to the registry."""
PATH_LINES = 1_000
CROSSINGS = 17
FIELDS_OF_NOUNS = 104
"""More than the 75 that are aimed at: 22 are the arguments of `send_message`, and `Caller` and `TurnScope` say again a
part of the turn to the calls that it makes, since tools know no turn."""
ROOT_MODULES = 8

LARGE_CLASSES = {
    "Agent": "what a user sets for a persona, stored as a row",
    "Caller": "all that a call is made for and with",
    "ChosenModel": "all that is known of the model that answers",
    "CallInfo": "a call as plugins see it",
    "HomeServices": "what a home offers to its plugins",
    "Message": "an entry of the history, stored as a row",
    "ModelRequest": "what every wire format is written from",
    "PermissionUse": "an entry of the list of uses, stored as a row",
    "PluginContext": "what the contract offers to a plugin",
    "Plugin": "what is known of an installed plugin",
    "ProviderConfig": "what a user sets for a provider",
    "RunningPlugin": "the state of one plugin in an open home",
    "ToolContext": "what the contract offers to a tool",
    "ToolRegistry": "indexes of the same tools",
    "TurnState": "all that one turn works with, while it runs",
    "TurnParts": "the open home, as every turn works with it",
    "TurnScope": "a running turn as its calls see it",
    "TurnRequest": "the arguments of send_message",
}
"""Classes of the spine that may have more than 10 attributes or 6 arguments, with the reason."""


@cache
def core():
    return measures.modules()


def test_core_spine_and_plugins_stay_small():
    lines = measures.lines_by_floor(core())
    spine = sum(lines.get(floor, 0) for floor in measures.SPINE if floor != "plugins")

    assert sum(lines.values()) <= CORE_LINES
    assert spine <= SPINE_LINES
    assert lines["plugins"] <= PLUGINS_LINES


def test_path_from_entry_point_to_registry_is_short():
    path = [module for module in core() if module.name in {f"plugins.{name}" for name in PATH}]

    assert len(path) == len(PATH)
    assert sum(module.code_lines for module in path) <= PATH_LINES


def test_root_holds_few_modules():
    assert len([module for module in core() if module.path.parent.name == measures.CORE]) <= ROOT_MODULES


def test_classes_of_the_spine_are_small():
    large = {name.rpartition(".")[2] for name in measures.large_classes(core())}

    assert large - LARGE_CLASSES.keys() == set()


def test_functions_of_the_spine_are_short():
    assert measures.long_functions(core()) == {}


def test_crossings_of_event_loops_are_few():
    assert len(measures.crossings(core())) <= CROSSINGS


def test_permit_to_run_a_call_is_made_once():
    assert len(measures.calls_of(core(), "PermittedCall")) <= 1


def test_nouns_of_a_turn_have_few_fields():
    assert sum(measures.nouns(core()).values()) <= FIELDS_OF_NOUNS
