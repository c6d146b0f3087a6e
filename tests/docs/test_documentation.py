"""What the documentation shows is what happens: its commands, its Python, its files, its links."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tomllib
from contextlib import suppress
from itertools import chain
from typing import get_args

import pluggy
import pytest
from documentation_pages import EXAMPLE_PAGES, PAGES, ROOT, anchors_of, blocks_of, links_of
from how_long import IS_LONG
from oneclaw_devtools.conformance import imports
from page_reader import PageReader, assert_shown
from postgres_server import database_on_server

from oneclaw_core import TurnEvent, errors, hookspecs
from oneclaw_core.channels.commands import OWN_COMMANDS
from oneclaw_core.cli.main import BUILTIN_COMMANDS
from oneclaw_core.config.core_settings import Settings
from oneclaw_core.config.keys import KeySource
from oneclaw_core.config.model_overrides import ModelOverrides
from oneclaw_core.config.providers import Providers
from oneclaw_core.manifests.manifest import TOOL_KEYS
from oneclaw_core.permissions.requests import PermissionAnswer
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.providers import ModelEvent, ToolLoading
from oneclaw_core.types.budget import SpendingLimits
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS

pytestmark = pytest.mark.one_python

VARIABLES_OF_OTHERS = re.compile(
    r"(ONECLAW|OPENAI|ANTHROPIC|GEMINI|GOOGLE|OLLAMA)_\w+|\w+_API_KEY|NO_COLOR|FORCE_COLOR|PYTEST_(ADDOPTS|PLUGINS)"
)
HAS_PDF_PLUGIN = importlib.util.find_spec("oneclaw_pdf") is not None
# A source distribution of the core has no plugins beside it.
IS_CHECKOUT = (ROOT / "plugins").is_dir()
ONLY_IN_CHECKOUT = ("plugins",)
# What somebody who is new does, who follows it to the letter.
BY_THE_LETTER = ("readme", "first-chat", *(["first-plugin"] if IS_LONG else []))


# They start programs, servers and sandboxes again and again, and show nothing that other tests and pages do not: those
# of MCP servers, PostgreSQL, several servers on one database, recipes, tracing and the scaffold.
LONG_PAGES = (
    *("first-chat", "first-provider", "oauth", "writing-plugins", "embedding", "javascript", "user-tools", "hooks"),
    *("first-server", "first-mcp-server", "several-machines", "cookbook", "otel"),
    *("audit_log", "redactor", "folder_source", "events", "permissions", "manifests", "usage-and-cost", "tokens"),
)


# In the normal form, their commands that start pytest or check a plugin are left out: test_testing_pytest_plugin.py and
# test_cli_plugin_check.py show what these do, and all else on the pages happens.
QUICK_PAGES = () if IS_LONG else ("first-plugin",)


def page_id(page):
    return page.parent.name if page in EXAMPLE_PAGES else page.stem.lower()


FOLLOWED_PAGES = [
    pytest.param(page, marks=pytest.mark.long if page_id(page) in LONG_PAGES else ())
    for page in [*PAGES, *EXAMPLE_PAGES]
]


@pytest.fixture
def two_machines(request, tmp_path, monkeypatch):
    """A PostgreSQL server with two empty databases, its programs, and an end of what a page has left running."""
    server = request.getfixturevalue("postgres")
    for variable, name in (("ONECLAW_DATABASE_URL", "one"), ("RESTORED_URL", "restored")):
        url = database_on_server(server.uri("postgres"), tmp_path / name, "template0")
        monkeypatch.setenv(variable, url.replace("+psycopg", ""))
    monkeypatch.setenv("PATH", f"{server.bin_directory}{os.pathsep}{os.environ['PATH']}")
    yield
    for path in (tmp_path / "project").glob("*.pid"):
        with suppress(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGKILL)


@pytest.fixture
def reader(request, tmp_path, monkeypatch, page):
    for name in list(os.environ):
        if VARIABLES_OF_OTHERS.fullmatch(name):
            monkeypatch.delenv(name)
    if page.stem == "several-machines":
        request.getfixturevalue("two_machines")
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PY_COLORS", "0")
    # Of the plugins of pytest that happen to be installed, readers need this one.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p oneclaw")
    # Importing takes long on a busy machine.
    for limit in ("SLOW_MS", "NOTED_MS", "HEAVY_MS"):
        monkeypatch.setattr(imports, limit, 60_000)
    if page.stem == "first-mcp-server":
        # Its server starts eight times in a sandbox, where Python would compile the SDK each time.
        subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)
    is_by_the_letter = page_id(page) in BY_THE_LETTER
    monkeypatch.delenv("CI", raising=False)  # a reader is at a terminal
    reader = PageReader(tmp_path, is_by_the_letter=is_by_the_letter, is_quick=page_id(page) in QUICK_PAGES)
    monkeypatch.chdir(reader.folder)
    for entry in reversed(reader.search_path):
        monkeypatch.syspath_prepend(entry)
    yield reader
    reader.forget()


@pytest.mark.skipif(not HAS_PDF_PLUGIN, reason="the examples use oneclaw-pdf, which is not installed")
@pytest.mark.parametrize("page", FOLLOWED_PAGES, ids=page_id)
def test_what_a_page_shows_is_what_happens(page, reader):
    for block in blocks_of(page):
        try:
            reader.follow(block, page)
        except (Exception, SystemExit) as error:
            error.add_note(f"in the block at {page.relative_to(ROOT)}:{block.line}")
            raise


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLE_PAGES], ids=page_id)
def test_links_lead_somewhere(page):
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.relative_to(ROOT).parts[0] in ONLY_IN_CHECKOUT and not IS_CHECKOUT:
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_can_be_reached_from_the_table_of_contents():
    linked = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in links_of(ROOT / "docs" / "index.md")}
    assert {page for page in PAGES if page.parent == ROOT / "docs" and page.name != "index.md"} <= linked


def test_the_readme_shows_the_two_commands_that_are_run_on_a_fresh_machine():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("pip install uv && uv run")] == [
        'pip install uv && uv run oneclaw run "How many pages does examples/quarterly-report.pdf have?"',
        "pip install uv && uv run tox -p auto",
    ]


def hooks():
    manager = pluggy.PluginManager("oneclaw")
    return [name for name in vars(hookspecs) if manager.parse_hookspec_opts(hookspecs, name) is not None]


def event_words():
    """What ``run --json`` calls the events."""
    names = (event.__name__.removesuffix("Event") for event in get_args(TurnEvent))
    return [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in names]


def core_modules():
    paths = (ROOT / "oneclaw_core").iterdir()
    return sorted(path.stem for path in paths if not path.stem.startswith("_") and path.suffix in ("", ".py"))


def dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [project["dependencies"], *project["optional-dependencies"].values()]
    return [re.match(r"[\w.-]+", requirement)[0] for requirement in chain(*required)]


PROVIDERS = Providers({}, {}, load_plugins(frozenset()).known_providers)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("CHANGELOG.md", BUILTIN_COMMANDS),
        ("docs/using.md", [f"/{name}" for name in OWN_COMMANDS]),
        ("docs/using.md", Settings.model_fields),
        ("docs/using.md", [f"`{word}`" for word in event_words()]),
        ("docs/architecture.md", core_modules()),
        ("docs/decisions.md", dependencies()),
        ("docs/embedding.md", [event.__name__ for event in get_args(TurnEvent)]),
        ("docs/hooks.md", hooks()),
        ("docs/hooks.md", [event.__name__ for event in get_args(ModelEvent)]),
        ("docs/hooks.md", ["attachment_media_types", "loads_natively", *ToolLoading.__members__]),
        ("docs/manifests.md", TOOL_KEYS),
        (
            "docs/models-and-keys.md",
            [*PROVIDERS, *(each.key_variable for each in PROVIDERS.values() if not each.is_local)],
        ),
        ("docs/models-and-keys.md", [*ModelOverrides.model_fields, *KeySource]),
        ("docs/tokens.md", [f"`{way}`" for way in ToolLoading]),
        (
            "docs/usage-and-cost.md",
            [name for name in SpendingLimits.__dataclass_fields__ if name in Settings.model_fields],
        ),
        ("docs/permissions.md", [*KNOWN_PERMISSIONS, *map(str, PermissionAnswer)]),
    ],
)
def test_pages_name_all_there_is(page, names):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert names
    assert [name for name in names if not re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", text)] == []


def test_the_architecture_names_modules_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = "|".join(core_modules())
    named = {name.replace(".", "/") for name in re.findall(rf"(?<![\w./])((?:{packages})(?:\.[a-z_]+)+)\b", text)}
    core = ROOT / "oneclaw_core"
    assert len(named) > 10
    assert [name for name in sorted(named) if not (core / name).is_dir() and not (core / f"{name}.py").exists()] == []


@pytest.mark.skipif(not IS_CHECKOUT, reason="the tests of plugins are in the checkout alone")
def test_the_pages_on_security_name_tests_that_exist():
    pages = ("threat-model.md", "security-report.md")
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"`([\w/]*\btest_\w+\.py)(?:::(test_\w+))?`", text))
    assert len(named) > 60

    def exists(file, function):
        paths = [path for path in (ROOT / "tests" / file, ROOT / file) if path.exists()]
        return any(not function or f"def {function}(" in path.read_text(encoding="utf-8") for path in paths)

    assert [each for each in sorted(named) if not exists(*each)] == []


@pytest.mark.skipif(not IS_CHECKOUT, reason="the tests of plugins are in the checkout alone")
def test_each_claim_of_the_threat_model_names_its_test():
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| (?:claim|attack) \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 50
    assert [row for row in rows if ".py" not in row.rpartition(" | ")[2]] == []


def test_the_error_tree_is_that_of_the_code():
    page = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    branches = [line.strip() for line in errors.__doc__.splitlines() if "── " in line]
    assert len(branches) > 15
    assert [line.strip() for line in page.splitlines() if "── " in line] == branches


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb\n", "a\nb"),
        ("a\n...\nd\n", "a\nb\nc\nd\n"),
        ("a\n...\nd\n", "a\nd\n"),
        ("result ... end\n", "result with a dot. end\n"),
        ("took 12 ms\n", "took <1 ms\n"),
        ("a  b  1 ms\n", "a     b  20 ms   \n"),
    ],
)
def test_what_counts_as_shown(shown, printed):
    assert_shown(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [("a\n", "a\nb\n"), ("a\n...\nd\n", "a\nb\n"), ("a.c\n", "abc\n"), ("6 pages\n", "7 pages\n"), ("a b\n", "a  b\n")],
)
def test_what_does_not_count_as_shown(shown, printed):
    with pytest.raises(AssertionError):
        assert_shown(shown, printed)
