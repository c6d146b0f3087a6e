"""Descriptions of plugins, in this process and as a child process sends them."""

import atexit
import sys
import threading
from types import SimpleNamespace

import pytest
from pydantic import BaseModel
from stand_ins import plugin

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolResult
from oneclaw_core.errors import PluginError
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.catalogue import child_description
from oneclaw_core.plugins.catalogue.child_description import describe_in_child, describe_plugins
from oneclaw_core.plugins.catalogue.description import Description, leaving_out, raised_cause
from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin, PackageMetadata
from oneclaw_core.plugins.loading import crash_probe
from oneclaw_core.plugins.registration.entry import PluginEntry, PluginProblem
from oneclaw_core.plugins.registration.hook_marks import PluginContract
from oneclaw_core.process.probe import ProbeEnd, ProbeOutcome
from oneclaw_core.tools.registry import ToolRegistry

CONTRACT = PluginContract()
UPGRADE = "upgrade acme-tools, or disable it with: oneclaw plugins disable acme"


class PlainTool:
    def __init__(self, name):
        self.definition = ToolDefinition(name, f"Does {name}.")

    async def execute(self, arguments, context):
        return ToolResult.success("")


class Settings(BaseModel):
    token: str = ""


def description(loaded, package="acme-tools"):
    def load():
        if isinstance(loaded, BaseException):
            raise loaded
        return loaded

    return Description("acme", load, CONTRACT, ToolRegistry(), package)


def test_all_that_a_plugin_registers_is_described_in_steps():
    tool = PlainTool("send")
    described = description(
        plugin(
            register_groups=lambda register: register(ToolGroupDefinition("mail", "Mail", "Mails.")),
            register_tools=lambda register: register(tool),
            register_checks=lambda register: register("look", "acme:look"),
            register_settings=lambda register: register(f"{__name__}:Settings"),
            plugin_started=lambda context: None,
        )
    )
    steps = []
    described.tell = steps.append
    assert described.step == "import"
    entry = described.make()
    assert (entry.name, entry.problems) == ("acme", [])
    assert [each.name for each in entry.groups] == ["mail"]
    assert [each.tool for each in entry.tools] == [tool]
    settings, check = sorted(entry.registrations, key=lambda each: each.hook, reverse=True)
    assert (check.name, check.target) == ("look", "acme:look")
    assert (settings.value, "schema" in settings.options) == (Settings, True)
    assert entry.hooks["plugin_started"]["argument_names"] == ("context",)
    assert 0 <= entry.import_ms < 10_000
    assert steps[:2] == ["register_groups", "register_tools"]
    assert set(steps[2:]) == {"register_checks", "register_settings"}
    loaded = described.loaded()
    assert (loaded.name, loaded.tools, loaded.registrations) == ("acme", {"send": tool}, tuple(entry.registrations))
    assert list(loaded.implementations) == ["plugin_started"]


def test_a_plugin_is_loaded_with_its_objects_alone(tmp_path):
    first, second = PlainTool("send"), PlainTool("send")
    named = SimpleNamespace(name="named")

    def register_tools(register):
        register(first)
        register(second)
        register(named)
        register.manifest(tmp_path / "missing.json")
        register.source("found", "acme:found")

    hooks = {
        "register_tools": register_tools,
        "register_skills": lambda register: register(tmp_path / "missing"),
        "register_checks": lambda register: register("look", len),
        "plugin_started": lambda: None,
    }
    described = description(plugin(**hooks))
    loaded = described.load()
    assert described.entry.problems == []
    assert (loaded.name, loaded.tools) == ("acme", {"send": first, "named": named})
    assert [(each.name, each.value) for each in loaded.registrations] == [("found", None), ("look", len)]
    assert list(loaded.implementations) == ["plugin_started"]


def test_a_plugin_that_cannot_be_loaded_says_why():
    for loaded, message in (
        (ValueError("bad"), "ValueError: bad"),
        (None, "the entry point names None"),
        (SimpleNamespace(), "SimpleNamespace implements no hook"),
    ):
        with pytest.raises(PluginError) as error:
            description(loaded).load()
        assert str(error.value) == message


def raising(error):
    def register_tools(register):
        raise error

    return plugin(register_tools=register_tools)


CTRL_C = "it raised KeyboardInterrupt, though Ctrl-C was not pressed"
FAULTS = [
    (None, PluginProblem("import", "the entry point names None", "name a module with hooks", True, "import.nothing")),
    (ValueError("bad"), PluginProblem("import", "ValueError: bad", UPGRADE, True, "import.fails")),
    (SystemExit(3), PluginProblem("import", "SystemExit: 3", UPGRADE, True, "import.exits")),
    (KeyboardInterrupt(), PluginProblem("import", CTRL_C, UPGRADE, True, "import.fails")),
    (PluginError("not here"), PluginProblem("import", "not here", UPGRADE, True, "import.fails")),
    (raising(ValueError("x")), PluginProblem("register_tools", "ValueError: x", UPGRADE, True, "hooks.raises")),
    (raising(SystemExit(3)), PluginProblem("register_tools", "SystemExit: 3", UPGRADE, True, "hooks.exits")),
]


def test_what_goes_wrong_is_a_problem_with_a_remedy():
    for loaded, problem in FAULTS:
        entry = description(loaded).make()
        assert entry.problems == [problem]
        assert entry.import_ms >= 0
    assert leaving_out("acme", None) == "upgrade its package, or disable it with: oneclaw plugins disable acme"
    assert raised_cause(ValueError("two\nlines")).startswith("ValueError: two")


def test_a_step_that_does_not_end_is_reported():
    for step, check in (("import", "import.hangs"), ("register_tools", "hooks.hangs")):
        described = description(None)
        described.step = step
        described.report_hang(2.50)
        assert described.entry.problems == [PluginProblem(step, "it did not end within 2.5 s", UPGRADE, True, check)]


def test_settings_without_a_model_are_left_out():
    for target in (f"{__name__}:no_such", f"{__name__}:PlainTool", "no_such_module:Settings"):
        described = description(plugin(register_settings=lambda register, target=target: register(target)))
        (problem,) = described.make().problems
        assert (problem.where, problem.remedy, problem.check) == (
            *("register_settings", "register one pydantic model", "hooks.target"),
        )
        assert problem.cause
        assert described.entry.registrations == []
        assert described.step == "register_settings"


class Channel:
    """The channel of a child process to its parent."""

    def __init__(self, printed=()):
        self.sent = []
        self._printed = iter(printed)

    def printed(self):
        return next(self._printed, "")

    def send(self, message):
        self.sent.append(message)


def installed(name, value=None, package="acme-tools"):
    return InstalledPlugin(name, value or f"acme_{name}", PackageMetadata(package, "1"))


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    hook = "from oneclaw_core import hookimpl\n@hookimpl\ndef register_checks(register):\n    register('look', 'a:b')\n"

    def write(name, source=""):
        (tmp_path / f"acme_{name}.py").write_text(hook + source)
        monkeypatch.delitem(sys.modules, f"acme_{name}", raising=False)
        return installed(name).to_dict()

    return write


def described(channel, *plugins):
    describe_plugins({"plugins": plugins}, channel)
    return [PluginEntry.from_dict(each["entry"]) for each in channel.sent if "described" in each]


def test_a_child_process_sends_each_step(modules):
    channel = Channel()
    entries = described(channel, modules("one"), modules("two"))
    assert [(each.name, each.problems, len(each.registrations)) for each in entries] == [("one", [], 1), ("two", [], 1)]
    assert [{key: each[key] for key in each if key != "entry"} for each in channel.sent] == [
        {"begin": 0, "step": "import"},
        {"begin": 0, "step": "register_checks"},
        {"described": 0},
        {"begin": 1, "step": "import"},
        {"begin": 1, "step": "register_checks"},
        {"described": 1},
    ]


def test_what_a_plugin_prints_is_a_warning(modules):
    # The first of two looks for each plugin drops what was printed before.
    entries = described(Channel(["old", "p" * 101, "older", ""]), modules("one"), modules("two"))
    cause = f"it printed {'p' * 100!r}"
    problem = PluginProblem("import", cause, "ask its author to log instead", False, "import.prints")
    assert [each.problems for each in entries] == [[problem], []]


def test_a_plugin_that_changes_the_process_is_the_last_one_there(modules, monkeypatch):
    monkeypatch.setenv("ACME_BEFORE", "1")
    changing = modules("one", "import os\nos.environ['ACME_BEFORE'] = '2'\n")
    (entry,) = described(Channel(), changing, modules("two"))
    (problem,) = entry.problems
    assert problem == PluginProblem(
        "import",
        "its import changed environment variables (ACME_BEFORE)",
        "upgrade acme-tools, or disable it with: oneclaw plugins disable one",
        False,
        "import.changes-process",
    )
    assert len(entry.registrations) == 1


def test_a_plugin_that_endangers_the_process_registers_nothing(modules):
    done = threading.Event()
    threading.acme_done = done
    try:
        source = (
            "import threading\nthreading.Thread(target=threading.acme_done.wait, name='acme', daemon=False).start()\n"
        )
        (entry,) = described(Channel(), modules("one", source), modules("two"))
    finally:
        done.set()
        del threading.acme_done
    assert (entry.tools, entry.groups, entry.registrations, entry.hooks) == ([], [], [], {})
    assert entry.problems == [
        PluginProblem(
            "import",
            "threads were started that keep the program from ending (acme): it is not loaded",
            "upgrade acme-tools, or disable it with: oneclaw plugins disable one",
            True,
            "import.changes-process",
        )
    ]


def test_a_function_for_the_end_is_tried(modules, monkeypatch):
    faults = iter(["", "a function for its end (atexit) does not end"])
    monkeypatch.setattr(child_description, "exit_fault", lambda: next(faults))
    source = "import atexit\natexit.register(len, ())\n"
    try:
        fine, faulty = described(Channel(), modules("one", source), modules("two", source), modules("three"))
    finally:
        atexit.unregister(len)
    assert fine.problems == []
    assert [each.cause for each in faulty.problems] == [
        "a function for its end (atexit) does not end: it is not loaded"
    ]


ENDED = ProbeEnd(True, False, "ended")
KILLED = ProbeEnd(False, False, "was killed by SIGKILL")
HUNG = ProbeEnd(False, True, "did not go on")
FAILED = ProbeEnd(False, False, "ended with exit status 1", "ValueError: x")


def begin(number, step="import"):
    return {"begin": number, "step": step}


def done(number, name="x"):
    return {"described": number, "entry": PluginEntry(name, import_ms=1.0).to_dict()}


def in_child(monkeypatch, names, *outcomes):
    requests = []
    left = iter(outcomes)

    def run_probe(request, scratch, seconds, *, import_paths, environment):
        assert scratch.home.is_dir()
        assert seconds == isolation.LOAD_SECONDS
        assert environment == {k: v for k, v in scratch.environment().items() if k != "PYTHONDONTWRITEBYTECODE"}
        requests.append([each["name"] for each in request["plugins"]])
        assert request["task"] == "oneclaw_core.plugins.catalogue.child_description:describe_plugins"
        end, *messages = next(left)
        return ProbeOutcome(tuple(messages), end)

    monkeypatch.setattr(child_description, "run_probe", run_probe)
    entries = describe_in_child([installed(name) for name in names])
    assert [each.name for each in entries] == list(names)
    return [each.problems for each in entries], requests


def fault(step, cause, check, name):
    remedy = f"upgrade acme-tools, or disable it with: oneclaw plugins disable {name}"
    return PluginProblem(step, cause, remedy, True, check)


def test_one_child_process_describes_all_plugins(monkeypatch):
    problems, requests = in_child(monkeypatch, "ab", (ENDED, begin(0), done(0), begin(1), done(1), begin(2)))
    assert (problems, requests) == ([[], []], [["a", "b"]])


def test_another_child_process_goes_on_behind_a_plugin_that_ends_the_first(monkeypatch):
    kills = "the process that described it was killed by SIGKILL"
    raises = "the process that described it ValueError: x"
    hangs = f"it did not end within {isolation.LOAD_SECONDS:g} s"
    disturbs = "it disturbed the process that described it"
    for outcomes, expected, asked in (
        (
            [(KILLED, begin(0), done(0), begin(1)), (ENDED, begin(0), done(0))],
            [[], [fault("import", kills, "import.kills", "b")], []],
            ["abc", "c"],
        ),
        (
            [(HUNG, begin(0), begin(0, "register_tools")), (ENDED, begin(0), done(0), begin(1), done(1))],
            [[fault("register_tools", hangs, "hooks.hangs", "a")], [], []],
            ["abc", "bc"],
        ),
        (
            [(HUNG, begin(0)), (FAILED, begin(0, "register_tools")), (FAILED,)],
            [
                [fault("import", hangs, "import.hangs", "a")],
                [fault("register_tools", raises, "hooks.kills", "b")],
                [fault("import", raises, "import.kills", "c")],
            ],
            ["abc", "bc", "c"],
        ),
        # One that changes the process is the last one there.
        ([(ENDED, begin(0), done(0)), (ENDED, begin(0), done(0), begin(1), done(1))], [[], [], []], ["abc", "bc"]),
        (
            [(ENDED, begin(0), {"described": 0, "entry": {"name": "x"}}, begin(1), done(1), begin(2), done(2))],
            [[fault("import", disturbs, "import.fails", "a")], [], []],
            ["abc"],
        ),
        # Messages out of turn are a plugin's own.
        (
            [(ENDED, done(0), begin(1), done(1), begin(0), done(1), done(0), begin(1), done(1), begin(2), done(2))],
            [[], [], []],
            ["abc"],
        ),
    ):
        problems, requests = in_child(monkeypatch, "abc", *outcomes)
        assert (problems, requests) == (expected, [list(each) for each in asked])


def test_what_was_being_imported_is_tried_one_by_one(modules, monkeypatch):
    modules("bad", "raise SystemExit(3)\n")
    modules("good")
    channel = Channel()
    crash_probe.import_targets({"targets": ["acme_bad", "acme_good:register_checks"]}, channel)
    assert channel.sent == [{"begin": "acme_bad"}, {"begin": "acme_good:register_checks"}]
    names = []

    class Call:
        def __init__(self, call, name):
            names.append(name)

        def wait(self, seconds):
            names.append(seconds)

    monkeypatch.setattr(crash_probe, "ForeignCall", Call)
    crash_probe.import_targets({"targets": ["acme"]}, channel)
    assert names == ["import of acme", isolation.LOAD_SECONDS]


def test_a_child_process_imports_what_may_end_it(monkeypatch):
    for is_complete in (True, False):

        def run_probe(request, scratch, seconds, is_complete=is_complete):
            assert scratch.home.is_dir()
            assert scratch.root.parent.name.startswith("oneclaw-workers-")
            assert request == {
                "task": "oneclaw_core.plugins.loading.crash_probe:import_targets",
                "targets": ["acme", "acme:b"],
            }
            assert seconds == isolation.LOAD_SECONDS
            return ProbeOutcome((), ProbeEnd(is_complete, False, "ended"))

        monkeypatch.setattr(crash_probe, "run_probe", run_probe)
        assert crash_probe.can_be_imported(("acme", "acme:b")) is is_complete
