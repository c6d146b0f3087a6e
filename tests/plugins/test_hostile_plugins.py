"""Hostile plugins cost one command at most: each is named with the command that disables it, and all others work."""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from itertools import product

import pytest
from how_long import some
from site_plugins import GOOD, install, ours, remove

from oneclaw_core import OneClaw, hookimpl
from oneclaw_core.errors import PluginError
from oneclaw_core.installation.given_plugins import given_plugin
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.cache import PluginCache, _key, cache_path
from oneclaw_core.plugins.loading import discover, load_plugins
from oneclaw_core.plugins.look_here import LOOKS_HERE

pytestmark = pytest.mark.one_python

HOOK = "from oneclaw_core import hookimpl\n\n@hookimpl\ndef {hook}(register):\n    {code}\n"
KILLERS = {
    "exits": "import os; os._exit(3)",
    "crashes": HOOK.format(hook="register_tools", code="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
}
SURVIVED = {
    "raises": ("raise ValueError('no way')", "ValueError: no way"),
    "raises_exit": ("raise SystemExit('no licence')", "SystemExit: no licence"),
    "unprintable": (
        "class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Odd",
        "Odd: (its message cannot be shown)",
    ),
    "half_way": (HOOK.format(hook="register_checks", code="raise KeyError('x')"), "KeyError: 'x'"),
    "exits_in_hook": (HOOK.format(hook="register_skills", code="raise SystemExit(3)"), "SystemExit: 3"),
    "names_nothing": ("VALUE = 1", "implements no hook"),
    "patches_json": ("import json; json.dumps = lambda value: ''", "the standard library was changed (json.dumps)"),
    "patches_os": ("import os; os.path.exists = lambda path: True", "the standard library was changed"),
    "lasting_thread": (
        "import threading; threading.Thread(target=threading.Event().wait, name='forever', daemon=False).start()",
        "threads were started that keep the program from ending (forever)",
    ),
    "moves": ("import os; os.chdir('/')", "its import changed the current directory"),
    "sets_variable": ("import os; os.environ['ACME_X'] = '1'", "its import changed environment variables (ACME_X)"),
    "logs": ("import logging; logging.basicConfig(level=1)", "its import changed the root logger"),
    "closes_stdout": ("import io, sys; sys.stdout = io.StringIO()", "its import changed sys.stdout or sys.stderr"),
    "takes_signals": ("import signal; signal.signal(2, signal.SIG_IGN)", "signal only works in main thread"),
    "writes": ("import sys; print('hello'); print('hello', file=sys.stderr)", "it printed 'hello"),
    "forks": ("import os, time\nif not os.fork():\n    time.sleep(2)\n    os._exit(0)", "implements no hook"),
}


def program(site, tmp_path, *arguments, **environ):
    variables = {
        "PYTHONPATH": str(site),
        "ONECLAW_HOME": str(tmp_path / "home"),
        "ONECLAW_DISABLED_PLUGINS": ",".join(ours()),
        **environ,
    }
    return subprocess.run(
        [sys.executable, "-m", "oneclaw_core", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_each_plugin_that_ends_the_program_costs_one_command_and_all_others_none(site, tmp_path):
    install(site, "good", GOOD)
    killers = some(KILLERS, 3)
    for name in killers:
        install(site, name, KILLERS[name])
    for name, (source, _) in SURVIVED.items():
        install(site, name, source)

    ended = []
    while (done := program(site, tmp_path, "plugins", "list", "--json")).returncode:
        ended.append(done)
        assert len(ended) <= len(killers)
    listed = {each["name"]: each for each in json.loads(done.stdout)}

    assert len(ended) == len(killers)
    assert (listed["good"]["tools"], listed["good"]["status"]) == (["good_tool"], "ok")
    causes = {name: " ".join(each["cause"] for each in listed[name]["problems"]) for name in listed}
    for name in killers:
        assert "the program ended while it was imported; it is left alone" in causes[name]
        assert listed[name]["status"] == "left alone"
        (problem,) = listed[name]["problems"]
        assert f"oneclaw plugins enable {name}" in problem["remedy"]
    for name, (_, cause) in SURVIVED.items():
        assert cause in causes[name], name
        assert name in done.stderr or not any(each["is_error"] for each in listed[name]["problems"])
    again = program(site, tmp_path, "plugins", "list", "--json")
    assert (again.returncode, again.stderr) == (0, "")
    assert json.loads(again.stdout) == json.loads(done.stdout)


def statuses():
    return {each.name: each for each in load_plugins(ours()).plugins}


@pytest.fixture
def hanging(tmp_path):
    """Code that hangs until the test ends."""
    release = tmp_path / "release"
    yield f"import os, time\nwhile not os.path.exists({str(release)!r}):\n    time.sleep(0.01)\n"
    release.touch()
    time.sleep(0.1)


def test_a_plugin_that_hangs_costs_the_limit_once(site, hanging, monkeypatch, caplog):
    monkeypatch.setattr(isolation, "LOAD_SECONDS", 0.5)
    install(site, "good", GOOD)
    install(site, "hostile", hanging)
    install(site, "in_hook", HOOK.format(hook="register_tools", code=hanging.replace("\n", "\n    ")))

    found = statuses()
    started = time.monotonic()
    again = statuses()

    assert time.monotonic() - started < 0.5
    assert (found["good"].status, found["good"].tools) == ("ok", ["good_tool"])
    for each in (found["hostile"], found["in_hook"], again["hostile"], again["in_hook"]):
        assert (each.status, each.problems[0].cause) == ("failed", "it did not end within 0.5 s")
    assert (found["hostile"].problems[0].where, found["in_hook"].problems[0].where) == ("import", "register_tools")
    assert len([each for each in caplog.records if "did not end" in each.getMessage()]) == 2


@pytest.mark.long
def test_a_program_has_a_subprocess_look_at_new_plugins(site, caplog):
    install(site, "good", GOOD)
    install(site, "hostile", KILLERS["exits"])
    token = LOOKS_HERE.set(False)
    try:
        found, again = statuses(), statuses()
    finally:
        LOOKS_HERE.reset(token)

    assert (found["good"].tools, found["good"].problems) == (["good_tool"], [])
    (problem,) = found["hostile"].problems
    assert problem.cause == "the process that looked at it ended with exit status 3"
    assert again["hostile"].problems == [problem]
    assert "good_plugin" not in sys.modules
    assert len([each for each in caplog.records if "hostile" in each.getMessage()]) == 1


@pytest.mark.long
def test_a_plugin_that_failed_is_tried_again_when_it_changes_or_the_user_wants_it(site):
    install(site, "hostile", "raise ValueError('first')")
    assert statuses()["hostile"].problems[0].cause == "ValueError: first"
    (site / "good_plugin.py").write_text("")

    assert PluginCache(cache_path()).forget("hostile")
    assert statuses()["hostile"].status == "failed"
    (site / "hostile_plugin.py").write_text(GOOD)
    sys.modules.pop("hostile_plugin", None)
    assert statuses()["hostile"].status == "ok"
    assert not PluginCache(cache_path()).forget("hostile")


@pytest.mark.long
def test_a_plugin_whose_code_ends_the_program_at_its_first_use_is_left_alone_too(site, tmp_path):
    install(site, "good", f"import os\nif os.environ.get('ACME_DIES'):\n    os._exit(3)\n{GOOD}")
    assert statuses()["good"].status == "ok"

    ended = program(site, tmp_path, "call", "good_tool", ACME_DIES="1")
    after = program(site, tmp_path, "plugins", "list", "--json", ACME_DIES="1")

    assert ended.returncode == 3
    listed = {each["name"]: each for each in json.loads(after.stdout)}
    assert "the program ended while it was imported" in listed["good"]["problems"][0]["cause"]


@pytest.mark.long
def test_four_processes_at_once_import_a_plugin_once(site, tmp_path):
    log = tmp_path / "imports"
    noting = f"import time\nwith open({str(log)!r}, 'a') as file:\n    file.write('x')\ntime.sleep(1)\n"
    install(site, "good", noting + GOOD)
    threads = [threading.Thread(target=program, args=(site, tmp_path, "tools", "list")) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert log.read_text() == "x"


def test_ctrl_c_blames_no_plugin(site):
    cache = PluginCache(cache_path())

    def interrupted():
        with cache.looking([]) as note:
            note(discover()[0])
            assert cache.journal.path.read_bytes()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert cache.journal.path.read_bytes() == b""


def test_a_process_that_looks_right_now_is_not_blamed(site):
    cache = PluginCache(cache_path())
    with cache.looking([]) as note:
        note(discover()[0])
        assert not discover()[0].problems
        assert cache.journal.path.read_bytes()


def test_a_process_that_a_plugin_forked_holds_up_nobody(site):
    cache = PluginCache(cache_path())
    plugin = discover()[0]
    with cache.looking([]):
        pass
    with cache.journal.path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as the forked one does, whose parent is gone
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        file.write(f"{gone.pid}\n{_key(plugin)}".encode())
        file.flush()
        started = time.monotonic()
        (found,) = (each for each in discover() if each.name == plugin.name)
        assert time.monotonic() - started < 5
    assert "the program ended" in found.problems[0].cause


GATE = f"{GOOD}\n@hookimpl\nasync def before_tool_call(call):\n    return None\n"


@pytest.mark.long
def test_tools_in_the_group_of_another_plugin_are_reported(site):
    install(site, "good", GOOD.replace("@hookimpl", SHARED_GROUP, 1).replace("good_tool)", "good_tool, group='shelf')"))
    install(
        site, "hostile", GOOD.replace("good_tool", "other_tool").replace("other_tool)", "other_tool, group='shelf')")
    )

    catalog = load_plugins(ours())
    records = {each.name: each for each in catalog.plugins}

    assert catalog.registry.get_tool_groups()["shelf"] == ["good_tool", "other_tool"]
    (problem,) = records["hostile"].problems
    assert not problem.is_error
    assert "of hostile-plugin 1.2 (other_tool) joined the tool group 'shelf' of good-plugin 1.2" in problem.cause


SHARED_GROUP = """
@hookimpl
def register_groups(register):
    from oneclaw_core import ToolGroupDefinition
    register(ToolGroupDefinition("shelf", "Shelf", "Puts things on a shelf."))

@hookimpl"""


@pytest.mark.long
def test_an_import_that_runs_an_event_loop_works_everywhere(site, tmp_path):
    install(site, "good", f"import asyncio\nasyncio.run(asyncio.sleep(0))\n{GOOD}")

    async def call():
        async with OneClaw.open(tmp_path / "home", environ={"ONECLAW_DISABLED_PLUGINS": ",".join(ours())}) as claw:
            return (await claw.call_tool("good_tool", "{}")).result.result

    assert statuses()["good"].status == "ok"
    assert asyncio.run(call()) == "good"


def test_a_hook_of_a_given_plugin_does_not_block_the_event_loop(tmp_path):
    reached = threading.Event()

    class Given:
        pass

    def register_tools(register):
        assert reached.wait(20)

    given = Given()
    given.register_tools = hookimpl(register_tools)

    async def open_home():
        asyncio.get_running_loop().call_later(0.05, reached.set)
        async with OneClaw.open(tmp_path / "home", environ={}, plugins=[given_plugin(given, "given")]) as claw:
            return claw.catalog.plugins[0].problems

    assert asyncio.run(open_home()) == []


LEFTOVERS = {
    "thread": "threading.Thread(target=threading.Event().wait, daemon=False).start()",
    "system_exit": "atexit.register(sys.exit, 7)",
    "endless": "atexit.register(threading.Event().wait)",
}


@pytest.mark.long
@pytest.mark.parametrize("leftover", some(list(LEFTOVERS), 3))
def test_what_a_tool_leaves_behind_changes_neither_the_end_nor_the_status(leftover, site, tmp_path):
    imports = "import atexit, sys, threading\n"
    install(site, "good", imports + GOOD.replace('    return "good"', f"    {LEFTOVERS[leftover]}\n    return 'good'"))
    done = program(site, tmp_path, "call", "good_tool")

    assert done.returncode == 0, done.stderr
    assert '"result": "good"' in done.stdout


def test_a_tool_of_a_plugin_that_cannot_be_imported_any_more_names_it(site):
    install(site, "good", GOOD)
    catalog = load_plugins(ours())
    (site / "good_plugin.py").write_text("raise RuntimeError('changed meanwhile')")
    del sys.modules["good_plugin"]

    with pytest.raises(PluginError, match=r"changed meanwhile.*disable it with: oneclaw plugins disable good"):
        asyncio.run(catalog.registry.get_tool("good_tool").execute({}))


async def called(tmp_path, disabled=""):
    environ = {"ONECLAW_DISABLED_PLUGINS": ",".join({*ours(), disabled})}
    async with OneClaw.open(tmp_path / "home", environ=environ) as app:
        outcome = await app.call_tool("get_current_time")
    sys.modules.pop("good_plugin", None)
    return outcome.result.is_success, outcome.result.error_message


def not_loaded(kind, site, hanging):
    """Replace the gate that loaded by a version that cannot be loaded."""
    metadata = "Requires-Dist: oneclaw-core>=99\n" if kind == "incompatible" else ""
    sources = {"import fails": "raise ImportError('broken')", "hangs": hanging}
    remove(site, "good")
    install(site, "good", sources.get(kind, GATE), metadata, version="1.3")
    sys.modules.pop("good_plugin", None)
    if kind == "left alone":
        plugin = next(each for each in discover() if each.name == "good")
        load_plugins(ours())
        PluginCache(cache_path()).journal.path.write_text(f"1\n{_key(plugin)}")


STATES = ("all is there", "cache deleted", "data unreadable")
KINDS = ("import fails", "incompatible", "left alone", "hangs")


@pytest.mark.parametrize(("kind", "state"), some(product(KINDS, STATES), 8))
def test_a_gate_whose_plugin_cannot_be_loaded_any_more_denies(kind, state, site, hanging, tmp_path, monkeypatch):
    install(site, "good", GATE)
    assert asyncio.run(called(tmp_path)) == (True, None)
    if state == "cache deleted":
        shutil.rmtree(tmp_path / "cache")
    not_loaded(kind, site, hanging)
    monkeypatch.setattr(isolation, "LOAD_SECONDS", 0.3 if kind == "hangs" else 5.0)
    if state == "data unreadable":
        (file,) = (tmp_path / "data").rglob("gates-of-plugins.json")
        file.write_text("{")

    is_success, message = asyncio.run(called(tmp_path))

    assert not is_success
    assert "oneclaw plugins disable good" in message
    assert asyncio.run(called(tmp_path, disabled="good")) == (True, None)
