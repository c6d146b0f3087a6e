"""Marks of a plugin's functions: the options that they set, and faults in them."""

import contextlib
import dataclasses
import json
from types import SimpleNamespace

import pluggy

from oneclaw_core import hookimpl
from oneclaw_core.installation.given_plugins import given_plugin
from oneclaw_core.plugins.manager import PluginManager
from oneclaw_core.plugins.plugin import PluginProblem
from oneclaw_core.tools.registry import ToolRegistry

MARK = pluggy.HookimplMarker("oneclaw")


def read(plugin=None, /, **functions):
    """Have the manager look at a plugin; return its event hooks, and the problems."""
    found = given_plugin(SimpleNamespace(**functions) if plugin is None else plugin, "acme")
    PluginManager(ToolRegistry()).describe(found)
    return None if found.loaded is None else found.loaded.hooks, found.problems


def plain(register):
    """Stand in for a registration hook."""


def before(call):
    """Stand in for an event hook."""


async def later(call):
    """Stand in for an async event hook."""


def generator(call):
    yield


async def async_generator(call):
    yield


def test_marked_hooks_are_read():
    called = []
    register_tools = hookimpl(lambda register: called.append(register))
    hooks, problems = read(register_tools=register_tools, before_tool_call=hookimpl(before), other=len)
    assert (list(hooks), problems, len(called)) == (["before_tool_call"], [], 1)
    assert hooks["before_tool_call"].function is before


def test_the_options_of_event_hooks_are_read():
    def taking(context, call, new_argument=1):
        """Take an argument that this version does not have."""

    for mark, function, arguments, options in (
        (hookimpl, before, ["call"], {}),
        (hookimpl, later, ["call"], {"is_async": True}),
        (hookimpl, taking, ["context", "call"], {}),
        (hookimpl(tryfirst=True), before, ["call"], {"tryfirst": True}),
        (hookimpl(trylast=True, in_turns=True), before, ["call"], {"trylast": True, "in_turns": True}),
        (hookimpl(skips_read_only=True), before, ["call"], {"skips_read_only": True}),
        (
            hookimpl(tools=["send", "mail"], timeout_seconds=600),
            before,
            ["call"],
            {"tools": ["send", "mail"], "timeout_seconds": 600},
        ),
        (MARK, lambda call: None, ["call"], {}),
    ):
        hooks, problems = read(before_tool_call=mark(function), register_tools=hookimpl(plain))
        assert problems == []
        expected = {"argument_names": arguments, "is_async": False} | options
        assert hooks["before_tool_call"].options == expected
        assert json.loads(json.dumps(expected)) == expected


NAMED_LIKE = "the function register_groups is named like a hook, and is not marked as one: it is not called"
UNKNOWN = "this OneClaw has no such hook (plugin contract 0.3): correct its name, or upgrade oneclaw-core"
LIMIT = "use a number above 0, at most 600"


async def coroutine(register):
    """Stand in for a registration hook that is async."""


def wrapping(register):
    return (yield)


def wrapping_call(**mark):
    def wrapper(call):
        return (yield)

    return MARK(**mark)(wrapper)


@contextlib.contextmanager
def around(work):
    yield


async def async_around(work):
    """Stand in for a hook around a call that is async."""


def around_generator(work):
    yield


def limited(seconds):
    def limited_hook(call):
        """Stand in for an event hook with a time limit."""

    return hookimpl(timeout_seconds=seconds)(limited_hook)


def named(tools):
    def named_hook(call):
        """Stand in for an event hook of some tools."""

    return hookimpl(tools=tools)(named_hook)


def unmarked(register):
    """Stand in for a hook that is not marked."""


def event(name, cause, remedy):
    return PluginProblem("hooks", f"the hook {name} cannot be called: {cause}", remedy, True, "hooks.event")


NO_WRAPPER = "a {} hook takes no wrapper, because no plugin may overrule what another one does"
OWN = "implement the hook itself"
OLD_FORM = ("it is a hook wrapper of the old form", "mark it with wrapper=True")
GOOD = {"register_tools": hookimpl(plain)}
CALL = "before_tool_call"
FAULTS = [
    (
        {"register_tools": hookimpl(coroutine)},
        PluginProblem(
            "hooks", "the hook register_tools is an async function", "write it without async", True, "hooks.async"
        ),
    ),
    (
        {"register_tools": hookimpl(wrapper=True)(wrapping)},
        event("register_tools", NO_WRAPPER.format("registration"), OWN),
    ),
    ({CALL: wrapping_call(wrapper=True)}, event(CALL, NO_WRAPPER.format("gate"), OWN)),
    (
        {"rewrite_tool_call": wrapping_call(wrapper=True)},
        event("rewrite_tool_call", NO_WRAPPER.format("rewriter"), OWN),
    ),
    (
        {"after_tool_call": wrapping_call(wrapper=True)},
        event("after_tool_call", NO_WRAPPER.format("observer"), OWN),
    ),
    ({CALL: wrapping_call(hookwrapper=True)}, event(CALL, *OLD_FORM)),
    (
        {CALL: hookimpl(before), "second": hookimpl(specname=CALL)(lambda call: None)},
        PluginProblem(
            "hooks", f"several of its functions implement the hook {CALL}", "make one of them", True, "hooks.event"
        ),
    ),
    ({CALL: hookimpl(generator)}, event(CALL, "it is a generator", "return a value")),
    ({CALL: hookimpl(async_generator)}, event(CALL, "it is a generator", "return a value")),
    *(({CALL: limited(each)}, event(CALL, f"its timeout_seconds is {each!r}", LIMIT)) for each in (0, -1, 600.5, "2")),
    ({CALL: named([1])}, event(CALL, "its tools are not names", "name tools or tool groups")),
    ({CALL: named(["send", 1])}, event(CALL, "its tools are not names", "name tools or tool groups")),
]
WARNINGS = [
    (
        {"register_groups": unmarked},
        PluginProblem(
            "hooks", NAMED_LIKE, "put @oneclaw_core.hookimpl before it, or rename it", False, "hooks.unmarked"
        ),
    ),
    (
        {"register_dreams": hookimpl(plain)},
        PluginProblem("hooks", "unknown hook 'register_dreams'", UNKNOWN, False, "hooks.unknown"),
    ),
]


def test_a_hook_that_cannot_be_called_is_reported_and_none_is_used():
    for functions, problem in FAULTS:
        hooks, problems = read(**(GOOD | functions))
        assert (hooks, problems) == (None, [problem])


def test_a_hook_that_is_not_called_is_a_warning():
    for functions, problem in WARNINGS:
        hooks, problems = read(**(GOOD | functions))
        assert (hooks, problems) == ({}, [problem])
    optional = hookimpl(optionalhook=True)(lambda register: None)
    assert read(**GOOD, register_dreams=optional)[1] == []


def test_a_function_can_have_another_name_than_its_hook():
    hooks, problems = read(ask_first=hookimpl(specname=CALL)(lambda call: None))
    assert (list(hooks), problems) == ([CALL], [])


def test_an_argument_that_a_hook_does_not_have():
    hooks, (problem,) = read(register_tools=hookimpl(lambda registrar: None))
    assert (hooks, problem.where, problem.check, problem.is_error) == (None, "hooks", "hooks.arguments", True)
    assert problem.remedy == "take only arguments that the hook has; see oneclaw_core.hookspecs"
    assert "registrar" in problem.cause


def test_an_object_without_hooks():
    module = SimpleNamespace(__name__="acme.plugin")
    for plugin, name in ((object(), "object"), (module, "acme.plugin")):
        hooks, problems = read(plugin)
        cause = f"{name} implements no hook"
        remedy = "mark its functions with @oneclaw_core.hookimpl"
        assert (hooks, problems) == (None, [PluginProblem("hooks", cause, remedy, False, "hooks.none")])


def test_a_plugin_without_a_hash_is_read():
    @dataclasses.dataclass
    class Acme:
        calls: list

        @hookimpl
        def before_turn(self, turn):
            """Stand in for a gate."""

        def before_tool_call(self, call):
            """Stand in for a function that is not marked."""

    hooks, (problem,) = read(Acme([]))
    assert (list(hooks), problem.check) == (["before_turn"], "hooks.unmarked")


def test_a_hook_around_a_call_is_a_context_manager():
    name = "around"
    for function, problems in (
        (hookimpl(around), []),
        (hookimpl(async_around), [event(name, "it is an async function", "write it without async")]),
        (hookimpl(around_generator), [event(name, "it is a generator", "decorate it with contextlib.contextmanager")]),
    ):
        assert read(**{name: function})[1] == problems
