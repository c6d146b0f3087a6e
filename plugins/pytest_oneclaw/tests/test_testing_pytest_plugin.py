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
