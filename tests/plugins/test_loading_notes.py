"""A plugin that ended the program while it was loaded is known at the next start.

A child process finds out whether it was the plugin or a kill from outside.
"""

import os
import signal
import stat
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from oneclaw_core import hookimpl
from oneclaw_core.plugins.loading.crash_guard import LOADING, RETRY_SECONDS, CrashGuard, forget_endings
from oneclaw_core.plugins.loading.load_plugins import load_plugins
from oneclaw_core.plugins.registration.record import PluginRecord

ENDING = """
import os, pathlib, sys
from oneclaw_core.plugins.loading.crash_guard import CrashGuard
from oneclaw_core.plugins.registration.record import PluginRecord
with CrashGuard(pathlib.Path(sys.argv[1])) as notes:
    with notes.during(PluginRecord("before", "acme-before", "1", "before"), "loading"):
        pass
    with notes.during(PluginRecord("acme", "acme-tools", "1.0", "acme"), sys.argv[2]):
        os.kill(os.getpid(), 9)
"""


class StandIn:
    value = "acme"
    dist = SimpleNamespace(name="acme-tools", version="1.0")

    def __init__(self, name="acme", load=lambda: SimpleNamespace(register_tools=hookimpl(lambda register: None))):
        self.name = name
        self.load = load


def acme(version="1.0", distribution="acme-tools"):
    return PluginRecord("acme", distribution, version, "acme")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "home" / "loading"


@pytest.fixture(autouse=True)
def code(tmp_path, monkeypatch):
    """The modules of the plugin: importing it ends the process."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "acme.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(site)
    return site


@pytest.fixture
def harmless(code):
    """The plugin can be imported, and was there when the process was killed."""
    (code / "acme.py").write_text("")


@pytest.fixture
def end_a_process(directory):
    """Have a process end while it loads the plugin, so many seconds ago."""

    def end(seconds_ago=0.0, step=LOADING):
        before = set(directory.glob("*"))
        status = subprocess.run([sys.executable, "-c", ENDING, directory, step], check=False).returncode
        assert status == -signal.SIGKILL
        (note,) = set(directory.iterdir()) - before
        os.utime(note, (time.time() - seconds_ago,) * 2)

    return end


def is_left_alone(directory, record):
    with CrashGuard(directory) as notes:
        return notes.leaves_alone(record)


def load(directory, *points, disabled=()):
    return {record.name: record for record in load_plugins(disabled, points, directory).plugins}


def test_a_plugin_that_ended_the_program_is_left_alone_and_reported(directory, end_a_process):
    end_a_process()

    def load_it():
        pytest.fail("it was loaded")

    records = load(directory, StandIn(load=load_it), StandIn("before"))

    (problem,) = records["acme"].problems
    assert records["acme"].status == "failed"
    assert (problem.where, problem.is_error) == (LOADING, True)
    assert problem.cause.startswith("the program ended while it was loaded, at ")
    assert "oneclaw plugins check acme;" in problem.remedy
    assert "another version of acme-tools" in problem.remedy
    assert "oneclaw plugins enable acme;" in problem.remedy
    assert "tried once more after " in problem.remedy
    assert records["before"].status == "ok"


@pytest.mark.usefixtures("harmless")
def test_a_kill_from_outside_is_not_held_against_the_plugin(directory, end_a_process):
    end_a_process()

    assert load(directory, StandIn())["acme"].status == "ok"

    assert list(directory.iterdir()) == []


@pytest.mark.usefixtures("harmless")
def test_what_ends_the_program_again_is_left_alone_although_a_child_can_import_it(directory, end_a_process):
    end_a_process(seconds_ago=20)
    end_a_process(seconds_ago=20)
    assert not is_left_alone(directory, acme()), "they ended together"
    assert not is_left_alone(directory, acme())

    end_a_process()

    assert is_left_alone(directory, acme())


def test_what_a_plugin_was_importing_counts(directory, code):
    (code / "acme.py").write_text("")
    (code / "acme_tools.py").write_text("import os\nos.abort()\n")
    program = ENDING.replace("sys.argv[2])", "sys.argv[2], 'acme_tools:run')")
    status = subprocess.run([sys.executable, "-c", program, directory, LOADING], check=False).returncode
    assert status == -signal.SIGKILL

    assert is_left_alone(directory, acme())


@pytest.mark.usefixtures("harmless")
def test_a_plugin_that_cannot_be_imported_ends_nothing(directory, code, end_a_process):
    (code / "acme.py").write_text("raise SystemExit(3)")
    end_a_process()

    assert not is_left_alone(directory, acme())


def test_what_a_child_found_out_is_not_tried_again(directory, end_a_process, monkeypatch):
    end_a_process()
    assert is_left_alone(directory, acme())
    (note,) = directory.iterdir()
    before = note.stat().st_mtime_ns
    monkeypatch.delattr("oneclaw_core.plugins.loading.crash_probe.can_be_imported")

    assert is_left_alone(directory, acme())
    assert note.stat().st_mtime_ns == before


def test_what_is_disabled_stays_disabled(directory, end_a_process):
    end_a_process()

    record = load(directory, StandIn(), disabled=["acme"])["acme"]

    assert (record.status, record.problems) == ("disabled", [])


@pytest.mark.parametrize("other", [acme("1.1"), acme(distribution="other"), PluginRecord("other", "acme-tools", "1.0")])
def test_another_plugin_or_version_is_loaded(other, directory, end_a_process):
    end_a_process()

    assert not is_left_alone(directory, other)
    assert is_left_alone(directory, acme())


def test_another_package_has_a_plugin_of_this_name(directory, end_a_process):
    end_a_process()
    other = StandIn()
    other.dist = SimpleNamespace(name="other", version="1")

    records = load(directory, other, StandIn())

    assert records["acme"].status == "ok"
    assert "oneclaw plugins enable acme;" in records["acme@acme-tools"].problems[-1].remedy


def test_it_is_tried_again_by_itself_and_nothing_is_held_against_it_if_that_works(directory, end_a_process):
    end_a_process(seconds_ago=RETRY_SECONDS + 1)

    assert load(directory, StandIn())["acme"].status == "ok"

    assert list(directory.iterdir()) == []


def test_what_ends_the_program_at_the_second_try_too_is_left_alone_for_good(directory, end_a_process):
    end_a_process(seconds_ago=9 * RETRY_SECONDS)
    end_a_process(seconds_ago=7 * RETRY_SECONDS)

    (problem,) = load(directory, StandIn())["acme"].problems

    assert "oneclaw plugins enable acme" in problem.remedy
    assert "tried once more" not in problem.remedy


def test_processes_that_end_together_count_once(directory, end_a_process):
    end_a_process(seconds_ago=RETRY_SECONDS + 3)
    end_a_process(seconds_ago=RETRY_SECONDS + 1)

    assert not is_left_alone(directory, acme())


def test_the_time_of_the_first_counts_for_those_that_end_together(directory, end_a_process):
    end_a_process(seconds_ago=RETRY_SECONDS - 100)
    end_a_process(seconds_ago=10)

    assert is_left_alone(directory, acme())


def test_the_user_has_it_tried_again(directory, end_a_process):
    end_a_process()

    assert not forget_endings(directory, "other")
    assert forget_endings(directory, "acme")

    assert not is_left_alone(directory, acme())
    assert not forget_endings(directory, "acme")


def test_a_hook_that_is_called_later_is_not_forgiven_for_what_goes_before(directory, end_a_process):
    end_a_process(seconds_ago=RETRY_SECONDS + 1, step="plugin_started")
    assert load(directory, StandIn())["acme"].status == "ok"

    end_a_process(step="plugin_started")

    (problem,) = load(directory, StandIn())["acme"].problems
    assert problem.where == "plugin_started"
    assert problem.cause.startswith("the program ended in this hook, at ")


def test_a_process_that_loads_it_right_now_says_nothing_against_it(directory):
    with CrashGuard(directory) as notes, notes.during(acme(), LOADING):
        (note,) = directory.iterdir()
        assert not is_left_alone(directory, acme())
        assert note.exists()


def test_notes_are_for_their_owner_alone_and_gone_after_loading(directory):
    directory.parent.mkdir()
    with CrashGuard(directory) as notes:
        assert not directory.exists()
        with notes.during(acme(), LOADING):
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory, *directory.iterdir())]
    assert modes == [0o700, 0o600]
    assert list(directory.iterdir()) == []


def test_ctrl_c_is_held_against_nobody(directory):
    def interrupt():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        load(directory, StandIn(load=interrupt))

    assert not is_left_alone(directory, acme())


def test_a_home_is_not_made_by_looking(directory):
    assert load(directory, StandIn())["acme"].status == "ok"

    assert not directory.parent.exists()


@pytest.mark.parametrize("in_the_way", ["file", "link", "home"])
def test_without_a_place_for_notes_all_is_loaded(in_the_way, directory):
    if in_the_way == "home":
        directory.parent.write_text("")
    else:
        directory.parent.mkdir()
        directory.write_text("") if in_the_way == "file" else directory.symlink_to("nowhere")

    records = load(directory, StandIn(), StandIn("other"))

    assert {record.status for record in records.values()} == {"ok"}


def test_what_is_no_note_is_passed_over_and_taken_away_when_it_is_old(directory):
    directory.mkdir(parents=True)
    for name, content in {"a": "", "b": "[]", "c": "{", "d": '{"plugin": 1}', "e": "\xff", "f": "[" * 60_000}.items():
        (directory / name).write_text(content, encoding="latin-1")
    os.mkfifo(directory / "pipe")
    (directory / "folder").mkdir()
    (directory / "link").symlink_to("a")

    assert load(directory, StandIn())["acme"].status == "ok"
    for path in directory.iterdir():
        os.utime(path, (1, 1), follow_symlinks=False)
    load(directory, StandIn())

    assert {path.name for path in directory.iterdir()} == {"pipe", "folder", "link"}
