"""Hostile plugins cost one command at most: each is named with the command that disables it, and all others work."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
from itertools import cycle, product

import pytest
from how_long import IS_LONG, some
from site_plugins import GOOD, install, ours, remove

from oneclaw_core import OneClaw, hookimpl
from oneclaw_core.errors import PluginError
from oneclaw_core.hookspecs import HOOK_KINDS, HookKind
from oneclaw_core.plugins.catalogue.entries import InstalledCatalogue
from oneclaw_core.plugins.loading.load_plugins import GivenPlugin, load_plugins

pytestmark = pytest.mark.one_python

HOOK = "from oneclaw_core import hookimpl\n\n@hookimpl\ndef {hook}(register):\n    {code}\n"
REGISTRATION = [hook for hook, kind in HOOK_KINDS.items() if kind is HookKind.REGISTRATION]
AT_IMPORT = {
    "exits": ("import os; os._exit(3)", "ended with exit status 3"),
    "crashes": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal SIGSEGV"),
    "raises_system_exit": ("raise SystemExit('no licence')", "SystemExit: no licence"),
    "hangs": ("import threading; threading.Event().wait()", "it did not end within"),
    "waits_for_ctrl_c": ("import signal; signal.pause()", "it did not end within"),
    "unprintable": (
        "class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Odd",
        "Odd: (its message cannot be shown)",
    ),
    "lasting_thread": (
        "import threading; threading.Thread(target=threading.Event().wait, name='forever', daemon=False).start()",
        "threads were started that keep the program from ending (forever)",
    ),
    "exit_function": ("import atexit, os; atexit.register(os._exit, 9)", "ends the program with exit status 9"),
    "system_exit_function": ("import atexit, sys; atexit.register(sys.exit, 7)", "(atexit) raises SystemExit"),
    "endless_exit": ("import atexit, signal; atexit.register(signal.pause)", "does not end"),
    "patched_json": ("import json; json.dumps = lambda value: ''", "the standard library was changed (json.dumps)"),
    "patched_socket": ("import socket; socket.getaddrinfo = None", "(socket.getaddrinfo)"),
    "takes_signals": ("import signal; signal.signal(2, signal.SIG_IGN)", "signal only works in main thread"),
}
GATE = f"{GOOD}\n@hookimpl\nasync def before_tool_call(call):\n    return None\n"
IN_A_HOOK = {
    "raises": ("raise ValueError('half way')", "ValueError: half way"),
    "exits": ("import os; os._exit(3)", "ended with exit status 3"),
}


def load(caplog):
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="oneclaw.plugins"):
        catalog = load_plugins(ours())
    records = {record.name: record for record in catalog.plugins}
    return catalog, records, [each.getMessage() for each in caplog.records if "hostile" in each.getMessage()]


def assert_contained(cause, children, caplog, status="failed"):
    """The culprit is named in one line, the others work, and the next time nothing of it runs."""
    catalog, records, warned = load(caplog)
    started = len(children)

    assert catalog.registry.get_tool("good_tool") is not None
    assert records["good"].problems == []
    assert records["hostile"].status == status
    assert cause in " ".join(each.cause for each in records["hostile"].problems)
    assert [line for line in warned if cause in line]
    assert all(line.endswith("disable it with: oneclaw plugins disable hostile") for line in warned)
    assert not any("\n" in line for line in warned)

    _, again, repeated = load(caplog)

    assert len(children) == started
    assert repeated == []
    assert again["hostile"].problems == records["hostile"].problems
    assert not {"good_plugin", "hostile_plugin"} & sys.modules.keys()


@pytest.mark.parametrize("kind", some(list(AT_IMPORT), 3))
def test_at_import(kind, site, children, caplog):
    source, cause = AT_IMPORT[kind]
    install(site, "good", GOOD)
    install(site, "hostile", source)

    assert_contained(cause, children, caplog)


@pytest.mark.parametrize(
    ("kind", "hook"), list(product(IN_A_HOOK, REGISTRATION) if IS_LONG else zip(cycle(IN_A_HOOK), REGISTRATION[::5]))
)
def test_in_a_registration_hook(kind, hook, site, children, caplog):
    code, cause = IN_A_HOOK[kind]
    install(site, "good", GOOD)
    install(site, "hostile", HOOK.format(hook=hook, code=code))

    assert_contained(cause, children, caplog)


def test_for_another_python(site, children, caplog):
    install(site, "good", GOOD)
    install(site, "hostile", "import os; os._exit(3)", "Requires-Python: >=99\n")

    assert_contained("hostile-plugin 1.2 needs Python >=99", children, caplog)


def test_tools_in_the_group_of_another_plugin_are_reported(site, children, caplog):
    install(site, "good", GOOD.replace("@hookimpl", SHARED_GROUP, 1).replace("good_tool)", "good_tool, group='shelf')"))
    install(
        site, "hostile", GOOD.replace("good_tool", "other_tool").replace("other_tool)", "other_tool, group='shelf')")
    )

    catalog, records, _ = load(caplog)

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


def test_a_plugin_that_failed_is_tried_again_when_it_changes_or_the_user_wants_it(site, children, caplog):
    install(site, "hostile", "import os; os._exit(3)")
    load(caplog)
    before = len(children)

    assert InstalledCatalogue().forget("hostile")
    load(caplog)
    assert len(children) == before + 1

    (site / "hostile_plugin.py").write_text(GOOD)
    catalog, records, _ = load(caplog)

    assert len(children) == before + 2
    assert records["hostile"].status == "ok"
    assert catalog.registry.get_tool("good_tool") is not None
    assert not InstalledCatalogue().forget("hostile")


def test_an_import_that_runs_an_event_loop_works_everywhere(site, children, caplog, tmp_path):
    install(site, "good", f"import asyncio\nasyncio.run(asyncio.sleep(0))\n{GOOD}")

    async def call():
        async with OneClaw.open(tmp_path / "home", environ={"ONECLAW_DISABLED_PLUGINS": ",".join(ours())}) as claw:
            return (await claw.call_tool("good_tool", "{}")).result.result

    assert load(caplog)[1]["good"].status == "ok"
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
        async with OneClaw.open(tmp_path / "home", environ={}, plugins=[GivenPlugin("given", given)]) as claw:
            return claw.catalog.plugins[0].problems

    assert asyncio.run(open_home()) == []


LEFTOVERS = {
    "thread": "threading.Thread(target=threading.Event().wait, daemon=False).start()",
    "system_exit": "atexit.register(sys.exit, 7)",
    "endless": "atexit.register(threading.Event().wait)",
}


@pytest.mark.parametrize("leftover", some(list(LEFTOVERS), 2))
def test_what_a_tool_leaves_behind_changes_neither_the_end_nor_the_status(leftover, site, tmp_path):
    imports = "import atexit, sys, threading\n"
    install(site, "good", imports + GOOD.replace('    return "good"', f"    {LEFTOVERS[leftover]}\n    return 'good'"))
    environ = {
        **os.environ,
        "PYTHONPATH": str(site),
        "ONECLAW_HOME": str(tmp_path / "home"),
        "ONECLAW_DISABLED_PLUGINS": ",".join(ours()),
    }

    done = subprocess.run(
        [sys.executable, "-m", "oneclaw_core", "call", "good_tool"], env=environ, capture_output=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert b'"result": "good"' in done.stdout


def test_a_tool_of_a_plugin_that_cannot_be_imported_any_more_names_it(site, children, caplog):
    install(site, "good", GOOD)
    catalog, _, _ = load(caplog)
    (site / "good_plugin.py").write_text("raise RuntimeError('changed meanwhile')")

    with pytest.raises(PluginError, match=r"changed meanwhile.*disable it with: oneclaw plugins disable good"):
        asyncio.run(catalog.registry.get_tool("good_tool").execute({}))


async def called(tmp_path, disabled=""):
    environ = {"ONECLAW_DISABLED_PLUGINS": disabled} if disabled else {}
    async with OneClaw.open(tmp_path / "home", environ=environ) as app:
        outcome = await app.call_tool("get_current_time")
    sys.modules.pop("good_plugin", None)
    return outcome.result.is_success, outcome.result.error_message


@pytest.mark.parametrize(
    ("source", "metadata"),
    [
        pytest.param("raise ImportError('broken')", "", id="import"),
        pytest.param(GATE, "Requires-Dist: oneclaw-core>=99\n", id="incompatible", marks=pytest.mark.long),
    ],
)
def test_gates_of_a_plugin_that_cannot_be_loaded_any_more_deny(source, metadata, site, tmp_path):
    install(site, "good", GATE)
    assert asyncio.run(called(tmp_path)) == (True, None)
    remove(site, "good")
    install(site, "good", source, metadata, version="1.3")

    is_success, message = asyncio.run(called(tmp_path))

    assert not is_success
    assert "oneclaw plugins disable good" in message
    assert asyncio.run(called(tmp_path, disabled="good")) == (True, None)
