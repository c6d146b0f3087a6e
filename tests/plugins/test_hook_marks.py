"""Marks of a plugin's functions: the options that they set, and faults in them."""

import contextlib
from types import SimpleNamespace

import pluggy

from oneclaw_core import hookimpl
from oneclaw_core.plugins.registration.entry import HookOptions, PluginEntry, PluginProblem
from oneclaw_core.plugins.registration.hook_marks import PluginContract, implementations_of

MARK = pluggy.HookimplMarker("oneclaw")
CONTRACT = PluginContract()


def read(plugin=None, /, **functions):
    entry = PluginEntry("acme")
    marks = CONTRACT.marks(SimpleNamespace(**functions) if plugin is None else plugin, entry)
    return marks, entry.problems


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
    marks, problems = read(register_tools=hookimpl(plain), before_tool_call=hookimpl(before), other=len)
    assert (set(marks), problems) == ({"register_tools", "before_tool_call"}, [])
    again, problems = read(register_tools=hookimpl(plain))
    assert (list(again), problems) == (["register_tools"], [])


def test_the_options_of_event_hooks_are_read():
    def taking(context, call, new_argument=1):
        """Take an argument that this version does not have."""

    for mark, function, options in (
        (hookimpl, before, HookOptions(("call",))),
        (hookimpl, later, HookOptions(("call",), True)),
        (hookimpl, taking, HookOptions(("context", "call"))),
        (hookimpl(tryfirst=True), before, HookOptions(("call",), tryfirst=True)),
        (hookimpl(trylast=True, in_turns=True), before, HookOptions(("call",), trylast=True, in_turns=True)),
        (hookimpl(skips_read_only=True), before, HookOptions(("call",), skips_read_only=True)),
        (
            hookimpl(tools=["send", "mail"], timeout_seconds=600),
            before,
            HookOptions(("call",), tools=("send", "mail"), timeout_seconds=600),
        ),
        (MARK, lambda call: None, HookOptions(("call",))),
    ):
        marks, problems = read(before_tool_call=mark(function), register_tools=hookimpl(plain))
        assert problems == []
        found = implementations_of("acme", marks)
        assert list(found) == ["before_tool_call"]
        implementation = found["before_tool_call"]
        assert (implementation.plugin, implementation.hook) == ("acme", "before_tool_call")
        assert (implementation.function, implementation.options) == (marks["before_tool_call"].function, options)


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
        marks, problems = read(**(GOOD | functions))
        assert (marks, problems) == ({}, [problem])


def test_a_hook_that_is_not_called_is_a_warning():
    for functions, problem in WARNINGS:
        marks, problems = read(**(GOOD | functions))
        assert (list(marks), problems) == (["register_tools"], [problem])
    optional = hookimpl(optionalhook=True)(lambda register: None)
    assert read(**GOOD, register_dreams=optional)[1] == []


def test_a_function_can_have_another_name_than_its_hook():
    marks, problems = read(ask_first=hookimpl(specname=CALL)(lambda call: None))
    assert (list(marks), problems) == ([CALL], [])


def test_an_argument_that_a_hook_does_not_have():
    marks, (problem,) = read(register_tools=hookimpl(lambda registrar: None))
    assert (marks, problem.where, problem.check, problem.is_error) == ({}, "hooks", "hooks.arguments", True)
    assert problem.remedy == "take only arguments that the hook has; see oneclaw_core.hookspecs"
    assert "registrar" in problem.cause


def test_an_object_without_hooks():
    module = SimpleNamespace(__name__="acme.plugin")
    for plugin, name in ((object(), "object"), (module, "acme.plugin")):
        marks, problems = read(plugin)
        cause = f"{name} implements no hook"
        remedy = "mark its functions with @oneclaw_core.hookimpl"
        assert (marks, problems) == ({}, [PluginProblem("hooks", cause, remedy, False, "hooks.none")])


def test_a_plugin_can_be_read_under_another_name():
    plugin = SimpleNamespace(**GOOD)
    assert read(plugin)[0].keys() == {"register_tools"}
    entry = PluginEntry("other")
    assert CONTRACT.marks(plugin, entry).keys() == {"register_tools"}
    assert entry.problems == []


def test_a_hook_around_a_call_is_a_context_manager():
    name = "around"
    for function, problems in (
        (hookimpl(around), []),
        (hookimpl(async_around), [event(name, "it is an async function", "write it without async")]),
        (hookimpl(around_generator), [event(name, "it is a generator", "decorate it with contextlib.contextmanager")]),
    ):
        assert read(**{name: function})[1] == problems
