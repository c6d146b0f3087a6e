"""``oneclaw serve``."""

import asyncio
import io
import os
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest
from how_long import some

SERVICES = """
import asyncio
import click
from oneclaw_core import hookimpl
from oneclaw_core.cli import print_text


async def bell(context):
    context.ready("with the key " + str(context.options))
    await asyncio.Event().wait()


async def once(context):
    context.show("only\\nthis once")


@click.command()
def link():
    "Print a link."
    print_text("a link")


@hookimpl
def register_services(register):
    register("bell", "oneclaw_ringing:bell", help="rings")
    register("once", once, runs_in=("serve", "chat"))
    register("beside", once, runs_in=("chat",))


@hookimpl
def register_commands(register):
    register("link", "oneclaw_ringing:link", help="Print a link.", parent="serve")
    register.option("--bell-key", help="Key of the bell.", type=int, default=3, minimum=1)
"""


@pytest.fixture(autouse=True)
def without_services_of_ours(home, monkeypatch):
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", os.environ["ONECLAW_DISABLED_PLUGINS"] + ",mcp")


@pytest.fixture
def ringing(install_plugin):
    return install_plugin("ringing", SERVICES)


def test_without_services_there_is_nothing_to_run(oneclaw):
    outcome = oneclaw("serve")

    assert outcome.status == 1
    assert "nothing to run: no installed plugin has a service" in outcome.stderr
    assert "oneclaw plugins install oneclaw-scheduled-tasks" in outcome.stderr


def test_services_are_listed(ringing, ok):
    assert ok("serve", "--list", "--json") == [
        {"name": "bell", "plugin": "ringing", "help": "rings", "runs_in": ["serve"]},
        {"name": "once", "plugin": "ringing", "help": "", "runs_in": ["chat", "serve"]},
    ]
    assert "bell" in ok("serve", "--list")


@pytest.mark.long
def test_it_ends_when_all_services_have_ended(ringing, oneclaw):
    outcome = oneclaw("serve", "--only", "once")

    assert (outcome.status, outcome.stdout) == (0, "")
    assert outcome.stderr.splitlines() == [
        "serve: once of plugin ringing starts",
        "serve: once: only",
        "serve: once: this once",
        "serve: once of plugin ringing has ended",
        "serve: stopped",
    ]


def test_an_unknown_service_is_refused(ringing, oneclaw):
    outcome = oneclaw("serve", "--only", "bel")

    assert outcome.status == 2
    assert "there is no service 'bel'; did you mean" in outcome.stderr


def test_json_is_for_the_listing(ringing, oneclaw):
    assert oneclaw("serve", "--json").status == 2


@pytest.mark.long
def test_plugins_add_subcommands_and_options(ringing, ok, oneclaw):
    help_text = ok("serve", "--help")

    assert "--bell-key INTEGER" in help_text
    assert "link  Print a link." in help_text
    assert ok("serve", "link") == "a link\n"
    assert oneclaw("serve", "--bell-key", "loud", "--only", "once").status == 2


@pytest.mark.long
def test_a_number_outside_the_bounds_of_an_option_is_refused(ringing, oneclaw):
    outcome = oneclaw("serve", "--bell-key", "0", "--only", "once")

    assert outcome.status == 2
    assert "Invalid value for '--bell-key': 0 is not in the range x>=1." in outcome.stderr


@pytest.mark.long
@pytest.mark.parametrize("number", some([signal.SIGTERM, signal.SIGINT], 2))
def test_a_signal_stops_it_with_status_0(ringing, home, number):
    command = [sys.executable, "-m", "oneclaw_core", "serve", "--only", "ringing.bell", "--bell-key", "7"]
    environ = os.environ | {"PYTHONPATH": str(ringing.parent)}
    with subprocess.Popen(
        command, env=environ, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        lines = [process.stderr.readline(), process.stderr.readline()]
        process.send_signal(number)
        stdout, rest = process.communicate(timeout=60)

    assert lines == [
        "serve: bell of plugin ringing starts: rings\n",
        "serve: bell of plugin ringing is ready: with the key {'bell_key': 7}\n",
    ]
    assert (process.returncode, stdout, rest) == (0, "", "serve: stopped\n")


DEAF = """
import time
from oneclaw_core import hookimpl


async def deaf(context):
    context.ready()
    while True:
        time.sleep(0.01)  # blocks everything


@hookimpl
def register_services(register):
    register("deaf", deaf, grace_seconds=60)  # it is not given up before the second signal
"""


@pytest.mark.long
def test_a_second_signal_ends_even_a_service_that_blocks_everything(install_plugin, home):
    environ = os.environ | {"PYTHONPATH": str(install_plugin("deaf", DEAF).parent)}
    with subprocess.Popen(
        [sys.executable, "-m", "oneclaw_core", "serve", "--only", "deaf"],
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        lines = [process.stderr.readline(), process.stderr.readline()]  # from now on it blocks everything
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)

    assert lines == ["serve: deaf of plugin deaf starts\n", "serve: deaf of plugin deaf is ready\n"]
    assert (process.returncode, rest) == (1, "serve: stopped at once\n")


def test_a_signal_that_interrupts_the_handling_of_the_first_is_the_second(monkeypatch):
    from oneclaw_core.cli import serve

    stop, ends = serve._Stop(), []
    stop.loop = asyncio.new_event_loop()
    monkeypatch.setattr(serve._Stop, "_end", staticmethod(ends.append))

    class InterruptedTimer:
        """A signal comes while the timer is made for the one before."""

        def __init__(self, *args):
            if not ends:
                stop.ask(signal.SIGINT, None)

        def start(self):
            pass

    monkeypatch.setattr(serve.threading, "Timer", InterruptedTimer)
    stop.ask(signal.SIGTERM, None)
    stop.loop.close()

    assert ends == ["stopped at once"]


def test_signals_in_the_middle_of_a_write_to_standard_error_end_the_program(monkeypatch, capfd):
    from oneclaw_core.cli import serve

    stop, ends = serve._Stop(), []
    stop.loop = asyncio.new_event_loop()

    class InterruptedTerminal(io.RawIOBase):
        """Two signals come while a service writes."""

        def writable(self):
            return True

        def write(self, data):
            stop.ask(signal.SIGTERM, None)
            stop.ask(signal.SIGINT, None)
            return len(data)

    # As ``_exit`` returns here, nothing cancels the first signal's timer, which would end this process later.
    monkeypatch.setattr(serve.threading, "Timer", Mock())
    monkeypatch.setattr(serve.os, "_exit", ends.append)
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(InterruptedTerminal()), line_buffering=True))
    sys.stderr.write("ready\n")
    stop.loop.close()

    assert ends == [1]
    assert capfd.readouterr().err == "serve: stopped at once\n"
