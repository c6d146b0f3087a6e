"""The pytest plugin ``oneclaw``: fixtures for testing plugins, without a key and without a network.

pytest loads this module in every project that has ``pytest-oneclaw`` installed, so it imports nothing until a fixture
is used. Fixtures:

- ``oneclaw``: a throw-away home with the chosen plugins, in which tools are called and messages sent
- ``call_tool``: runs a tool through the executor
- ``model``: answers messages from a script
- ``recorded_model``: answers messages as another model did when they were recorded
- ``oneclaw_plugins``: the chosen plugins; override it, or set ``oneclaw_plugins`` in the configuration of pytest
- ``oneclaw_home``, ``oneclaw_project``: the home, and the directory that OneClaw is started in
- ``oneclaw_factory``: makes more homes, with other plugins
- ``tool_context``: for calling a tool's function directly
- ``web_server``: a web server on loopback
- ``definitions_snapshot``: compares what a plugin registers with a file
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from oneclaw_core.system.home import Home
    from oneclaw_core.testing import Cassette, ScriptedModel
    from oneclaw_core.tools.context import ToolContext
    from pytest_oneclaw.home_under_test import CallTool, HomeFactory, HomeUnderTest
    from pytest_oneclaw.snapshot import DefinitionsSnapshot
    from pytest_oneclaw.web_server import RoutedWebServer

_homes_key = pytest.StashKey[list["HomeUnderTest"]]()
_written_key = pytest.StashKey[list[Path]]()
_cassette_key = pytest.StashKey["Cassette"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings."""
    group = parser.getgroup("oneclaw", "testing OneClaw plugins")
    group.addoption(
        "--oneclaw-update-snapshots",
        action="store_true",
        help="write the snapshots of definitions instead of comparing them",
    )
    group.addoption(
        "--oneclaw-record",
        choices=["none", "new", "all"],
        default="none",
        help="what recorded_model may ask a model for: nothing, what its cassette has no answer to, or everything anew",
    )
    group.addoption(
        "--oneclaw-record-model",
        metavar="PROVIDER/MODEL",
        help="the model that is recorded, by default that of the setting oneclaw_record_model",
    )
    parser.addini("oneclaw_record_model", "the model that recorded_model records, as PROVIDER/MODEL", default="")
    parser.addini(
        "oneclaw_plugins",
        "names of the plugins to load in tests beside the built-in tools; by default all that are installed",
        type="args",
        default=None,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say what the marker is for."""
    config.addinivalue_line(
        "markers",
        "oneclaw_cassette(key='conversation', normalise=()): how recorded_model finds an answer; see Cassette",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that passed although its model was not asked what the test, or its cassette, says."""
    outcome = yield
    cassette = item.stash.get(_cassette_key, None)
    if cassette is not None and cassette.unused and item.config.getoption("--oneclaw-record") == "none":
        unused = "".join(f"\n  {each.said}" for each in cassette.unused)
        pytest.fail(
            f"answers of {cassette.path} were not asked for; record it anew with --oneclaw-record=all. They follow on:"
            f"{unused}",
            pytrace=False,
        )
    for home in item.stash.get(_homes_key, ()):
        home.check_model_is_done()
    return outcome


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the snapshots that were written."""
    for path in config.stash.get(_written_key, ()):
        terminalreporter.write_line(f"oneclaw: wrote {path}; look at it, and commit it")


@pytest.fixture
def oneclaw_plugins(request: pytest.FixtureRequest) -> Iterable[object] | None:
    """The plugins to load beside the built-in tools: names, modules or objects with hooks; ``None`` for all."""
    chosen: list[str] | None = request.config.getini("oneclaw_plugins")
    return chosen or None


@pytest.fixture
def oneclaw_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home of the test's own, which programs that the test starts use too."""
    import os

    from oneclaw_core.system.home import find_home

    for name in [each for each in os.environ if each.startswith("ONECLAW_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "oneclaw-home"
    monkeypatch.setenv("ONECLAW_HOME", str(path))
    # Nothing that is stored gets into the keyring of the user who runs the tests.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    home = find_home({}, path)
    home.create()
    return home


@pytest.fixture
def oneclaw_project(tmp_path: Path) -> Path:
    """The directory in which OneClaw is started: tools may read the files in it."""
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def oneclaw_factory(request: pytest.FixtureRequest, oneclaw_home: Home, oneclaw_project: Path) -> Iterator[HomeFactory]:
    """Makes homes with plugins of one's choice; they are closed when the test ends."""
    from pytest_oneclaw.home_under_test import HomeUnderTest

    homes = request.node.stash.setdefault(_homes_key, [])

    def make(
        plugins: Iterable[object] | None = None,
        *,
        home: Path | None = None,
        allow: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        check_plugins: bool = True,
    ) -> HomeUnderTest:
        path = home if home is not None else oneclaw_home.path
        made = HomeUnderTest(path, oneclaw_project, plugins, allow=allow, environ=environ, check_plugins=check_plugins)
        homes.append(made)
        return made

    yield make
    for each in homes:
        each.close()


@pytest.fixture
def oneclaw(oneclaw_factory: HomeFactory, oneclaw_plugins: Iterable[object] | None) -> HomeUnderTest:
    """OneClaw with the chosen plugins, in a home of the test's own."""
    return oneclaw_factory(oneclaw_plugins)


@pytest.fixture
def call_tool(oneclaw: HomeUnderTest) -> CallTool:
    """Runs a tool as a model would have it run: ``call_tool("pdf_info", path="a.pdf")``."""
    return oneclaw.call_tool


@pytest.fixture
def model(oneclaw: HomeUnderTest) -> ScriptedModel:
    """The model of ``oneclaw``, which answers from a script."""
    return oneclaw.model


@pytest.fixture
def recorded_model(request: pytest.FixtureRequest) -> Cassette:
    """A model that answers as another one did, from ``cassettes/NAME_OF_THE_TEST.json`` beside the test.

    ``pytest --oneclaw-record=new --oneclaw-record-model=PROVIDER/MODEL`` records it, with a key of the environment.
    """
    import re

    from oneclaw_core.testing import Cassette

    record = request.config.getoption("--oneclaw-record")
    model = request.config.getoption("--oneclaw-record-model") or request.config.getini("oneclaw_record_model")
    if record != "none" and not model:
        raise pytest.UsageError("name the model that is recorded: --oneclaw-record-model=PROVIDER/MODEL")
    marker = request.node.get_closest_marker("oneclaw_cassette")
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    path = request.path.parent / "cassettes" / f"{name}.json"
    cassette = Cassette(path, record=record, model=model or None, **(marker.kwargs if marker else {}))
    request.node.stash[_cassette_key] = cassette
    if record != "none":
        request.config.stash.setdefault(_written_key, []).append(path)
    return cassette


@pytest.fixture
def tool_context(oneclaw_home: Home, oneclaw_project: Path) -> ToolContext:
    """A context for calling a tool's function directly: its data and ``paths`` work, its services do not."""
    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.tools.context import ToolContext

    paths = PathGuard(oneclaw_home.workspace, oneclaw_project, oneclaw_home.path)
    return ToolContext(oneclaw_home.path, None, "test", "test", "call_1", paths)


@pytest.fixture
def web_server() -> Iterator[RoutedWebServer]:
    """A web server on loopback that answers what the test says."""
    from pytest_oneclaw.web_server import RoutedWebServer

    with RoutedWebServer() as server:
        yield server


@pytest.fixture
def definitions_snapshot(request: pytest.FixtureRequest, oneclaw: HomeUnderTest) -> DefinitionsSnapshot:
    """Compares what a plugin registers with a file beside the test: ``definitions_snapshot()``."""
    from pytest_oneclaw.snapshot import UPDATE_OPTION, DefinitionsSnapshot

    written = request.config.stash.setdefault(_written_key, [])
    is_updating = bool(request.config.getoption(UPDATE_OPTION))
    return DefinitionsSnapshot(oneclaw, request.path.parent, is_updating=is_updating, note=written.append)
