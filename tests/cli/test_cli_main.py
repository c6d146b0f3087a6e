import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from how_long import some

from oneclaw_core import __version__
from oneclaw_core.cli.main import BUILTIN_COMMANDS

HEAVY_MODULES = ("sqlalchemy", "pydantic", "httpx", "rich", "prompt_toolkit")
NOT_FOR_AN_OFFLINE_TURN = (
    "httpx",
    "genai_prices",
    "jsonschema",
    "prompt_toolkit",
    "dbos",
    "sqlalchemy",
    "psycopg",
    "oneclaw_mcp.index",
)

GREETING = """
    from oneclaw_core import hookimpl

    @hookimpl
    def register_commands(register):
        register("greet", "oneclaw_greeting.commands:greet", help="Say hello.")
"""
GREETING_COMMAND = """
import click
from oneclaw_core import PluginError

@click.command()
@click.argument("how", default="friendly")
def greet(how):
    "Greet."
    if how == "interrupted":
        raise KeyboardInterrupt
    if how == "refused":
        raise PluginError("no one is there: come back later")
    if how == "broken":
        raise ValueError("this is a surprise with sk-0123456789")
    click.echo("hello")
    return 7
"""
IMPOSTOR = """
    import click
    from oneclaw_core import hookimpl

    @click.command()
    def impostor():
        click.echo("I am not run")

    @click.command()
    def walk():
        click.echo("walking")

    @hookimpl
    def register_commands(register):
        register("run", impostor)
        register("walk", walk)
"""
BROKEN_HOOK = """
    from oneclaw_core import hookimpl

    @hookimpl
    def register_commands(register):
        1 / 0
"""


def start(*arguments, environ=None, **options):
    program = [sys.executable, "-m", "oneclaw_core", *arguments]
    return subprocess.run(program, env=os.environ | (environ or {}), capture_output=True, text=True, **options)


@pytest.fixture
def install_greeting(install_plugin):
    """Install a plugin with the command ``greet``, in a separate module."""

    def install(command=GREETING_COMMAND):
        install_plugin("greeting", GREETING, files={"commands.py": command})

    yield install
    sys.modules.pop("oneclaw_greeting.commands", None)


def test_version(ok):
    assert ok("--version") == f"oneclaw {__version__}\n"


def test_help_lists_every_command_with_a_line(ok, monkeypatch):
    monkeypatch.setenv(
        "ONECLAW_DISABLED_PLUGINS",
        "agents,checkpoints,database,devtools,google_workspace,javascript,mcp,memory,scheduled_tasks,setup,skills,telegram,terminal",
    )
    text = ok("--help")
    for name, command in BUILTIN_COMMANDS.items():
        assert f"  {name} " in text
        assert command.summary in text
    assert "Commands of plugins" not in text


@pytest.mark.parametrize("name", BUILTIN_COMMANDS)
def test_every_command_explains_itself(ok, name):
    assert f"Usage: oneclaw {name}" in ok(name, "--help")


@pytest.mark.long
def test_a_plugin_adds_a_command(ok, install_greeting, monkeypatch):
    monkeypatch.setenv(
        "ONECLAW_DISABLED_PLUGINS",
        "agents,checkpoints,database,devtools,google_workspace,javascript,mcp,memory,scheduled_tasks,setup,skills,telegram,terminal",
    )
    install_greeting()
    assert "Commands of plugins:\n  greet  Say hello." in ok("--help")
    # What a command returns is no exit status.
    assert ok("greet") == "hello\n"


@pytest.mark.long
def test_a_command_is_imported_only_when_it_is_run(ok, install_greeting):
    install_greeting()
    ok("--help")
    ok("tools", "list")
    assert "oneclaw_greeting.commands" not in sys.modules


@pytest.mark.parametrize(
    ("command", "cause"),
    some(
        [
            ("1 / 0", "oneclaw_greeting.commands:greet cannot be imported: ZeroDivisionError: division by zero"),
            ("import sys; sys.exit(3)", "oneclaw_greeting.commands:greet cannot be imported: SystemExit: 3"),
            ("raise KeyboardInterrupt", "cannot be imported: it raised KeyboardInterrupt"),
            ("", "oneclaw_greeting.commands:greet cannot be imported: AttributeError"),
            ("greet = print", "oneclaw_greeting.commands:greet is not a click command"),
        ],
        2,
    ),
)
def test_a_command_that_cannot_be_imported_names_its_plugin(oneclaw, install_greeting, command, cause):
    install_greeting(command)
    assert "Say hello." in oneclaw("--help").stdout

    outcome = oneclaw("greet")

    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("oneclaw: plugin greeting (oneclaw-greeting 1.2): ")
    assert cause in outcome.stderr
    assert outcome.stderr.endswith("disable it with: oneclaw plugins disable greeting\n")


@pytest.mark.long
def test_a_plugin_cannot_take_the_name_of_a_builtin_command(oneclaw, install_plugin):
    install_plugin("impostor", IMPOSTOR)
    outcome = oneclaw("walk")
    assert (outcome.status, outcome.stdout) == (0, "walking\n")
    assert "the command 'run' is taken" in outcome.stderr
    assert "I am not run" not in oneclaw("run", "What time is it?").stdout


@pytest.mark.long
@pytest.mark.parametrize("source", some(["1 / 0", "import sys; sys.exit(3)", BROKEN_HOOK], 2))
def test_a_broken_plugin_does_not_break_help(oneclaw, install_plugin, source):
    install_plugin("broken", source)
    outcome = oneclaw("--help")
    assert outcome.status == 0
    assert BUILTIN_COMMANDS["run"].summary in outcome.stdout
    assert outcome.stderr.startswith("oneclaw: warning: plugin broken (oneclaw-broken 1.2)")
    assert outcome.stderr.count("\n") == 1


def test_an_unknown_command_is_wrong_usage(oneclaw):
    outcome = oneclaw("tool")
    assert outcome.status == 2
    assert "No such command 'tool'" in outcome.stderr
    assert outcome.stdout == ""


def test_an_unknown_option_is_wrong_usage(oneclaw):
    outcome = oneclaw("run", "--loud", "hello")
    assert outcome.status == 2
    assert "--loud" in outcome.stderr


@pytest.mark.long
def test_an_expected_error_is_one_line(oneclaw, install_greeting):
    install_greeting()
    outcome = oneclaw("greet", "refused")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr == "oneclaw: no one is there: come back later\n"


@pytest.mark.long
def test_an_unexpected_error_is_one_line_and_its_traceback_is_in_the_log(oneclaw, home, install_greeting, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789")
    install_greeting()
    outcome = oneclaw("greet", "broken")
    log = home / "logs" / "oneclaw.log"
    assert outcome.status == 1
    expected = f"unexpected ValueError: this is a surprise with [redacted]; the traceback is in {log}"
    assert outcome.stderr == f"oneclaw: {expected}\n"
    text = log.read_text()
    assert "Traceback (most recent call last)" in text
    assert "ValueError: this is a surprise with [redacted]" in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.long
def test_an_unexpected_error_is_told_where_no_log_can_be_written(oneclaw, tmp_path, install_greeting, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "file"))
    install_greeting()
    outcome = oneclaw("greet", "broken")
    assert outcome.status == 1
    assert outcome.stderr.endswith("; the log could not be written\n")


@pytest.mark.long
def test_the_log_is_kept_small(oneclaw, home, install_plugin):
    install_plugin("broken", "1 / 0")
    log = home / "logs" / "oneclaw.log"
    log.parent.mkdir(parents=True)
    log.write_text("x" * 1_000_000)
    oneclaw("--help")
    assert "ZeroDivisionError" in log.read_text()
    assert log.stat().st_size < 100_000
    assert sorted(path.name for path in log.parent.iterdir()) == ["oneclaw.log", "oneclaw.log.1"]


def test_nothing_is_written_into_the_home_when_there_is_nothing_to_log(ok, home):
    ok("tools", "list")
    assert not home.exists()


@pytest.mark.long
def test_listing_works_without_a_usable_home(oneclaw, tmp_path, monkeypatch, install_plugin):
    install_plugin("broken", "1 / 0")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "file"))
    outcome = oneclaw("tools", "list")
    assert outcome.status == 0
    assert "load_tool_group" in outcome.stdout


@pytest.mark.long
def test_ctrl_c_is_silent(oneclaw, install_greeting):
    install_greeting()
    outcome = oneclaw("greet", "interrupted")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (130, "", "")


# Ctrl-C at the moment at which the program's first module is imported.
INTERRUPTED_AT_ONCE = """
import signal, sys

class Interrupting:
    def find_spec(self, name, *rest):
        if name == "oneclaw_core.cli.main":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize("start", some(["the script", "the module"], 2))
def test_ctrl_c_while_the_program_starts_is_silent(home, start):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["oneclaw"].partition(":")
    starts = {
        "the module": "import runpy; runpy.run_module('oneclaw_core', run_name='__main__')",
        "the script": f"from {module} import {function}; sys.exit({function}())",
    }
    program = [sys.executable, "-c", INTERRUPTED_AT_ONCE + starts[start], "tools", "list"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.long
def test_a_closed_pipe_is_left_quietly(home):
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-m", "oneclaw_core", "tools", "list", "--json"]
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.long
@pytest.mark.parametrize("arguments", some([["tools", "list"], ["--help"], ["run", "hello"]], 3))
def test_a_full_disk_behind_the_output_is_one_line(home, arguments):
    with Path("/dev/full").open("w") as full:
        program = [sys.executable, "-m", "oneclaw_core", *arguments]
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "oneclaw: not all could be written: [Errno 28] No space left on device; make room on the disk, and try again\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("closed", some([1, 0, 2], 3))
def test_a_stream_that_is_closed_from_the_start_is_no_obstacle(home, closed):
    program = f"{sys.executable} -m oneclaw_core tools list {closed}>&-"
    done = subprocess.run(program, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("load_tool_group" in done.stdout) == (closed != 1)


def test_a_home_that_cannot_be_found_is_one_line(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", "~nobody-of-that-name/home")
    assert oneclaw("--version").status == 0
    outcome = oneclaw("run", "hello")
    assert outcome.status == 1
    assert outcome.stderr.startswith("oneclaw: the home ")
    assert outcome.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.one_python
def test_a_terminal_without_unicode_gets_an_answer(home):
    done = start("run", "Grüße, what time is it?", environ={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "get_current_time" in done.stdout


def last_line_of(script, *arguments):
    """Run a script and read the JSON that it writes to stderr."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["--version"], HEAVY_MODULES),
        (["tools", "list"], HEAVY_MODULES),
        (["run", "hello"], NOT_FOR_AN_OFFLINE_TURN),
    ],
)
def test_starting_does_not_import_what_is_not_used(home, arguments, unused):
    script = (
        "import json, sys; from oneclaw_core.cli.main import main; status = main(sys.argv[1:]); "
        "print(json.dumps(list(sys.modules)), file=sys.stderr); sys.exit(status)"
    )
    assert set(unused) & set(last_line_of(script, *arguments)) == set()


@pytest.mark.long
def test_the_end_of_the_program_looks_for_no_garbage(home):
    script = (
        "import atexit, gc, sys; from oneclaw_core.cli.main import main; "
        "atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr)); "
        "sys.exit(main(['--version']))"
    )
    assert last_line_of(script) > 1_000


@pytest.mark.parametrize("name", ["../up", "Work", "", "a b", "-x", "x" * 64])
def test_a_profile_cannot_have_any_name(oneclaw, monkeypatch, name):
    monkeypatch.setenv("ONECLAW_PROFILE", "before")

    outcome = oneclaw("--profile", name, "tools", "list")

    assert outcome.status == 2
    assert "is not a valid name for a profile" in outcome.stderr


def test_a_profile_has_a_database_of_its_own(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_PROFILE", "work")
    monkeypatch.setenv("ONECLAW_DATABASE_URL", "postgresql://somewhere/all")

    outcome = oneclaw("sessions", "list")

    assert outcome.status == 2
    assert "unset that variable, or use no profile" in outcome.stderr
