"""The pytest plugin in runs of pytest of its own: its configuration, its failures, and what starting it costs."""

import pytest

pytestmark = pytest.mark.lowest_versions

pytest_plugins = ["pytester"]

PLUGIN = """
from oneclaw_core import hookimpl, tool

@tool(group="acme")
def acme_greet(who: str) -> str:
    '''Greet somebody.

    Args:
        who: a name.
    '''
    return f"Hello {who}"

@hookimpl
def register_tools(register):
    register(acme_greet)
"""
SNAPSHOT_TEST = """
import acme, pytest

@pytest.fixture
def oneclaw_plugins():
    return [acme]

def test_definitions(definitions_snapshot):
    definitions_snapshot()
"""
RECORDED_TEST = """
import acme, pytest

@pytest.fixture
def oneclaw_plugins():
    return [acme, "offline"]

def test_greeting(oneclaw, recorded_model):
    turn = oneclaw.send("Greet Ada by name", model=recorded_model)
    assert [call.name for call in turn.tool_calls][-1] == "acme_greet"
    assert "Ada" in turn.text
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest in a separate process, with no plugin but this one; gives its result."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    pytester.makepyfile(acme=PLUGIN)

    def run(test, *options):
        pytester.makepyfile(test_acme=test)
        return pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", *options)

    return run


@pytest.mark.long
@pytest.mark.one_python
def test_starting_pytest_imports_next_to_nothing(run, monkeypatch):
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    result = run(
        """
        import sys

        def test_modules():
            ours = {name for name in sys.modules if "oneclaw" in name}
            core = {"oneclaw_core", "oneclaw_core._lazy", "oneclaw_core.system", "oneclaw_core.system.version"}
            assert ours == core | {"pytest_oneclaw", "pytest_oneclaw.plugin"}
        """,
    )
    result.assert_outcomes(passed=1)


@pytest.mark.long
@pytest.mark.one_python
def test_plugins_are_chosen_in_the_configuration(run, pytester):
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\noneclaw_plugins = ["builtin"]')
    result = run(
        """
        def test_it(oneclaw):
            assert [each.name for each in oneclaw.app.catalog.plugins] == ["builtin", "offline", "scripted_model"]
        """,
        "-p",
        "oneclaw",
    )
    result.assert_outcomes(passed=1)


@pytest.mark.long
@pytest.mark.one_python
def test_a_script_that_does_not_fit_fails_the_test(run):
    result = run(
        """
        def test_too_short(oneclaw, model):
            model.calls("get_current_time")
            oneclaw.send("Hello")

        def test_too_long(oneclaw, model):
            model.says("Hello.").then("Bye.")
            oneclaw.send("Hello")

        def test_another_failure_comes_first(oneclaw, model):
            model.says("Hello.")
            assert 1 == 2
        """,
        "-p",
        "oneclaw",
    )

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: the scripted model was asked for answer 2, and its script has 1:",
            "E*the scripted model was not asked for the last 1 of its answers:",
            "E*says 'Bye.'",
            "E*assert 1 == 2",
        ]
    )
    result.stdout.no_fnmatch_line("*During handling*")


@pytest.mark.long
@pytest.mark.one_python
def test_a_snapshot_is_written_and_updated(run, pytester):
    path = pytester.path / "acme.definitions.json"

    first = run(SNAPSHOT_TEST, "-p", "oneclaw")
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines([f"oneclaw: wrote {path}; look at it, and commit it"])
    written = path.read_text()

    path.write_text(written.replace("Greet somebody.", "Greet a person."))
    run(SNAPSHOT_TEST, "-p", "oneclaw", "--oneclaw-update-snapshots").assert_outcomes(passed=1)
    assert path.read_text() == written


@pytest.mark.long
@pytest.mark.one_python
def test_a_model_is_recorded_once_and_replayed_without_it(run, pytester):
    cassette = pytester.path / "cassettes" / "test_greeting.json"
    missing = run(RECORDED_TEST, "-p", "oneclaw")
    missing.assert_outcomes(errors=1)
    missing.stdout.fnmatch_lines(
        ["*there is no cassette *test_greeting.json: record it with pytest --oneclaw-record=new*"]
    )

    options = ("-p", "oneclaw", "--oneclaw-record=new", "--oneclaw-record-model=offline/rules")
    recorded = run(RECORDED_TEST, *options)
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines([f"oneclaw: wrote {cassette}*"])
    assert "acme_greet" in cassette.read_text()

    run(RECORDED_TEST.replace(', "offline"', ""), "-p", "oneclaw").assert_outcomes(passed=1)

    other = run(RECORDED_TEST.replace("Greet Ada by name", "Wave to Ada"), "-p", "oneclaw")
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["*CassetteMissError*", "*user: Wave to Ada*", "*user: Greet Ada by name*"])


@pytest.mark.one_python
def test_answers_that_are_not_asked_for_fail_the_test(run, pytester):
    (pytester.path / "cassettes").mkdir()
    entry = '{"key": "0", "said": "user: Sing", "text": ["La."]}'
    text = f'{{"format": 1, "key": "conversation", "entries": [{entry}]}}'
    (pytester.path / "cassettes" / "test_nothing.json").write_text(text)

    result = run("def test_nothing(recorded_model):\n    pass", "-p", "oneclaw")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*were not asked for; record it anew*", "*user: Sing*"])
