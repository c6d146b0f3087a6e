"""What the site is made of beside its pages: parts made from the program, pictures, the contents, links."""

import re
from importlib import import_module
from pathlib import Path

import click
import contents_page
import generated_parts
import outside_pages
import pictures
import pytest
import record_terminal
from documentation_pages import PAGES, PLUGIN_PAGES, ROOT, blocks_of, links_of
from parts import _markdown, database_tables, events, manifest_keys, public_names, settings, tools
from parts import command_line as commands_part
from parts import errors as errors_part
from public_packages import PUBLIC_PACKAGES

from oneclaw_core import errors
from oneclaw_core.cli.main import BUILTIN_COMMANDS, command_line
from oneclaw_core.config.core_settings import Settings
from oneclaw_core.manifests.manifest import TOOL_KEYS
from oneclaw_core.plugins.distributions import OUR_DISTRIBUTIONS
from oneclaw_core.sessions.schema import TABLES

pytestmark = pytest.mark.one_python

DOCS = ROOT / "docs"
HAS_ALL_PLUGINS = OUR_DISTRIBUTIONS.keys() <= {each.name for each in tools._catalog().plugins}
needs_all_plugins = pytest.mark.skipif(not HAS_ALL_PLUGINS, reason="not all plugins of the repository are installed")


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))


def generated_blocks():
    return [(page, block) for page in PAGES for block in blocks_of(page) if block.language == "{generated}"]


def words_of(page, block):
    """The words behind ``{generated}``."""
    line = page.read_text(encoding="utf-8").splitlines()[block.line - 2]
    return line.removeprefix("```{generated} ").split()


def test_each_part_stands_on_a_page():
    assert {words_of(page, block)[0] for page, block in generated_blocks()} == set(generated_parts.part_names())


@needs_all_plugins
@pytest.mark.parametrize("page", sorted({page for page, _ in generated_blocks()}), ids=lambda page: page.stem)
def test_parts_take_the_place_of_their_blocks_and_are_the_same_each_time(page):
    text = page.read_text(encoding="utf-8")
    made = generated_parts.with_parts(text)
    assert "{generated}" not in made
    assert len(made) > len(text)
    assert made == generated_parts.with_parts(text)
    assert str(Path.home()) not in made.replace(str(ROOT), "")
    assert str(ROOT) not in made


def test_every_command_with_every_option_is_in_the_reference():
    made = commands_part.markdown(["builtin"], [])
    program = command_line()
    count = 0

    def look(command, path):
        nonlocal count
        assert f"# {path}\n" in made
        for option in (each for each in command.params if isinstance(each, click.Option) and not each.hidden):
            assert option.opts[0] in made
            count += 1
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=path)
            for name in command.list_commands(context):
                look(command.get_command(context, name), f"{path} {name}")

    for name in BUILTIN_COMMANDS:
        look(program.get_command(click.Context(program), name), f"oneclaw {name}")
    assert count > 80


@pytest.mark.long
def test_the_reference_of_commands_does_not_depend_on_the_terminal(monkeypatch):
    made = commands_part.markdown(["builtin"], [])
    monkeypatch.setenv("COLUMNS", "40")
    assert commands_part.markdown(["builtin"], []) == made


@needs_all_plugins
def test_commands_of_plugins_are_apart():
    made = commands_part.markdown(["plugins"], [])
    assert "### oneclaw tasks\n" in made
    assert "### oneclaw run\n" not in made


def test_settings_have_their_limits_and_defaults():
    made = settings.markdown([], [])
    assert len(made.splitlines()) == len(Settings.model_fields) + 2
    assert "| `turn_max_tool_rounds` | whole number, at least 1 | `200` |" in made


def test_the_database_reference_has_every_column_and_index():
    made = database_tables.markdown([], [])
    for table in TABLES:
        section = made.partition(f"### {table.name}\n")[2].partition("\n### ")[0]
        assert all(f"| `{column.name}` |" in section for column in table.columns)
        assert all(f"`{index.name}`" in section for index in table.indexes)
    assert "The last message that the summary stands for." in made
    assert "where `type = 'tool_call' AND tool_status = 'pending'`" in made


def test_every_error_is_in_the_table_and_the_tree():
    names = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.OneClawError)
    ]
    assert all(f"| `{name}` |" in errors_part.markdown(["table"], []) for name in names)
    assert all(f"{name} " in errors_part.markdown(["tree"], []) for name in names)


def test_events_are_shown_as_they_are_printed():
    made = events.markdown([], [])
    assert (
        '{"event": "group_loaded", "group": "pdf", "tools": ["pdf_info", "pdf_extract_text", "pdf_render_page"]}'
        in made
    )
    assert made.index("### turn_finished\n") < made.index("### error\n")


def test_manifest_keys_are_those_that_are_read():
    made = manifest_keys.markdown(["tool"], [])
    assert set(re.findall(r"^\| `(\S+)` \|", made, re.MULTILINE)) >= set(TOOL_KEYS)


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_every_public_name_is_in_the_python_reference_once(package):
    page = DOCS / "python-api.md"
    listed = []
    for block in blocks_of(page):
        _, *arguments = words_of(page, block)
        if (arguments or ["oneclaw_core"]) == [package]:
            listed += block.text.split()
    assert sorted(listed) == sorted(set(import_module(package).__all__) - {"__version__"})


def test_hooks_are_in_the_python_reference():
    made = public_names.markdown(["hooks"], [])
    assert public_names.hook_names()[0] == "register_tools"
    assert all(name in made for name in public_names.hook_names())


@pytest.mark.skipif(not PLUGIN_PAGES, reason="a source distribution has no plugins beside it")
def test_every_environment_variable_of_oneclaw_is_on_its_page():
    page = (DOCS / "environment-variables.md").read_text(encoding="utf-8")
    folders = [ROOT / "oneclaw_core", *(each for path in PLUGIN_PAGES for each in path.parent.glob("*oneclaw*"))]
    sources = [path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")]
    names = {name for source in sources for name in re.findall(r"\"(ONECLAW_[A-Z_]+[A-Z])\"", source)}
    of_settings = {f"ONECLAW_{name.upper()}" for name in Settings.model_fields}
    assert {"ONECLAW_HOME", "ONECLAW_DATABASE_URL"} <= names
    assert [name for name in sorted(names - of_settings) if f"`{name}`" not in page] == []


def test_a_text_is_no_markup():
    assert _markdown.text("a *b* <c> [d]  `e`\n|f|") == r"a \*b\* \<c\> \[d\] \`e\` \|f\|"
    assert _markdown.text("after --, or with --no-browser; a--b") == "after `--`, or with `--no-browser`; a--b"
    assert _markdown.restructured("see ``x | y`` and :class:`~a.B`") == "see `x | y` and `a.B`"
    assert _markdown.table(["a", "b", "c"], [("`x|y`", "", "z")]) == "| a | c |\n| --- | --- |\n| `x\\|y` | z |\n"


def test_the_contents_are_the_lists_of_the_first_page():
    parts = contents_page.parts_of((DOCS / "index.md").read_text(encoding="utf-8"))
    pages = [f"{path}.md" for _, found in parts for _, path in found]
    assert len(set(pages)) == len(pages)
    assert {
        f"../{page}" if (page := path.relative_to(ROOT).as_posix())[:5] != "docs/" else page[5:] for path in PAGES
    } - {
        "index.md",
        "../README.md",
    } <= set(pages)
    assert contents_page.parts_of("## A\n- [B](c.md): d\n\n## E\nf\n") == [("A", [("B", "c")])]


@pytest.mark.parametrize(
    ("docname", "link", "turned"),
    [
        ("using", "permissions.md", "permissions.md"),
        ("using", "../CHANGELOG.md", "repository/CHANGELOG.md"),
        ("using", "../plugins/pdf/README.md", "repository/plugins/pdf/README.md"),
        ("using", "../LICENSE", "../LICENSE"),
        ("repository/CHANGELOG", "docs/databases.md", "../databases.md"),
        ("repository/plugins/pdf/README", "../../docs/using.md", "../../../using.md"),
        ("repository/CONTRIBUTING", "CHANGELOG.md", "CHANGELOG.md"),
    ],
)
def test_links_are_turned_to_where_the_site_has_the_page(docname, link, turned):
    pages = ["CHANGELOG.md", "CONTRIBUTING.md", "plugins/pdf/README.md"]
    text = f"[a]({link}#b) [c](https://example.org/d.md) [e](#f)"
    assert outside_pages.turned_links(text, docname, pages) == text.replace(link, turned)


@pytest.mark.parametrize("page", PLUGIN_PAGES, ids=lambda page: page.parent.name)
def test_links_of_plugins_lead_somewhere(page):
    assert [link for link in links_of(page) if not (page.parent / link.partition("#")[0]).exists()] == []


@pytest.mark.long
@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_are_up_to_date(name):
    drawn = pictures.PICTURES[name]().svg()
    assert (pictures.FOLDER / name).read_text(encoding="utf-8") == drawn, "run: python docs/pictures.py"
    assert len(drawn) < 60_000


def test_the_bars_have_the_numbers_of_the_page():
    page = (DOCS / "tokens.md").read_text(encoding="utf-8")
    strategies = pictures.measured(page)
    assert {each.service for each in strategies} == {
        "OpenAI Responses",
        "Anthropic Messages",
        "Gemini",
        "Chat Completions",
    }
    assert all(f"| {each.tools} |" in page and f" {each.billed:,} " in page for each in strategies)
    assert [each.tools for each in strategies if not each.less] == ["all tools always sent"] * 4


@pytest.mark.long
@needs_all_plugins
def test_the_recorded_session_is_what_a_terminal_shows():
    stored = record_terminal.FILE.read_text(encoding="utf-8")
    recorded = record_terminal.svg(record_terminal.record())
    assert record_terminal.text_of(stored) == record_terminal.text_of(recorded), "run: python docs/record_terminal.py"
    assert "has 6 pages." in record_terminal.text_of(stored)
    assert len(stored) < 60_000
    assert "http" not in stored.replace("http://www.w3.org/", "")


def test_what_a_terminal_overwrites_is_not_recorded():
    shown = "\r\x1b[K\x1b[2m• a …\x1b[0m\r\x1b[K\x1b[2m• a … done 12 ms\x1b[0m\r\nend <1 ms\r\n\x1b[?25h"
    assert record_terminal._settled(shown) == "\x1b[2m• a … done\x1b[0m\nend\n"


def test_every_picture_is_shown_on_a_page():
    shown = {Path(name).name for page in PAGES for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text())}
    assert {path.name for kind in ("svg", "png") for path in pictures.FOLDER.glob(f"*.{kind}")} == shown
