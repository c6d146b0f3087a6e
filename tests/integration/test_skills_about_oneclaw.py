"""The skills that come with OneClaw: what they say is true, and what they show works."""

import asyncio
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import importlib_metadata
import oneclaw_skills
import pytest
from how_long import some
from oneclaw_skills import ABOUT_ONECLAW
from oneclaw_skills.catalog import SkillCatalog, SkillStatus, read_entry
from oneclaw_skills.folder import SkillFolder
from oneclaw_skills.places import home_skills

from oneclaw_core import OneClaw
from oneclaw_core.cli.main import command_line
from oneclaw_core.manifests.manifest import load_manifest
from oneclaw_core.system.home import find_home
from oneclaw_core.tool_functions.function import tool
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS

DATA = Path(oneclaw_skills.__file__).parent / "about_oneclaw"
DETAILS = DATA / "create-tool-plugin" / "references" / "details.md"
PAGES = sorted(DATA.rglob("*.md"))
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# file: (\S+)\n")
_COMMAND = re.compile(r"`(oneclaw [^`]+)`|^ *(oneclaw .+)$", re.MULTILINE)


def blocks(path, language):
    return [text for _, found, text in _FENCED.findall(path.read_text()) if found == language]


def files_of(path):
    return {
        match[1]: text[match.end() :]
        for language in ("toml", "python")
        for text in blocks(path, language)
        if (match := _FILE.match(text))
    }


def test_all_are_registered():
    assert sorted(ABOUT_ONECLAW) == sorted(path.name for path in DATA.iterdir())


@pytest.mark.parametrize("name", ABOUT_ONECLAW)
def test_each_is_a_valid_skill_that_costs_little(name):
    entry = read_entry(SkillFolder(DATA / name))
    assert (entry.status, entry.problems) == (SkillStatus.OK, ())
    document = entry.skill.document
    # Each stands in every request of every session, and a loaded one in the rest of a session.
    assert len(document.description) <= 180
    assert "Use when" in document.description
    assert len(document.body) <= 8_000
    links = re.findall(r"\]\((?!\w+:)([^)]+)\)", document.body)
    assert [link for link in links if not entry.skill.folder.has_file(link)] == []


def commands():
    for page in PAGES:
        for match in _COMMAND.finditer(page.read_text()):
            yield (match[1] or match[2]).strip()


@pytest.mark.parametrize("command", some(sorted(set(commands())), 2))
def test_each_command_exists_with_its_options(command):
    found = command_line()
    context = click.Context(found)
    for word in re.split(r"\s+", command)[1:]:
        if word.startswith("--"):
            options = {"--help", *(option for parameter in found.params for option in parameter.opts)}
            assert word in options, (command, word)
        elif isinstance(found, click.Group) and word.isalpha() and word.islower():
            found = found.get_command(context, word)
            assert found is not None, (command, word)


@pytest.mark.long
def test_the_commands_that_stand_behind_a_name_exist():
    """``oneclaw permissions list``, ``grant NAME``, ... in one cell of a table."""
    group = None
    for cell in re.findall(
        r"^\| [^|]+ \| ([^|]+) \|$", (DATA / "about-oneclaw" / "SKILL.md").read_text(), re.MULTILINE
    ):
        for words in re.findall(r"`([^`]+)`", cell):
            first, *rest = words.split()
            if first == "oneclaw":
                group = command_line().get_command(click.Context(command_line()), rest[0])
            elif first.isalpha() and first.islower() and isinstance(group, click.Group) and "_" not in first:
                assert group.get_command(click.Context(group), first) is not None, (cell, first)


def test_the_files_it_names_are_those_of_a_home(tmp_path):
    page = (DATA / "about-oneclaw" / "SKILL.md").read_text()
    home = find_home({}, tmp_path)
    for path in (home.database_path, home.log_file):
        assert f"`{path.relative_to(tmp_path)}`" in page
    assert f"`{home.workspace.name}/`" in page
    assert f"`{home_skills(home).name}/NAME/SKILL.md`" in page


def test_the_details_name_what_there_is():
    text = DETAILS.read_text()
    permissions = set(re.findall(r"`((?:files|network|shell)\.\w+)`", text))
    assert len(permissions) >= 5
    assert permissions <= set(KNOWN_PERMISSIONS)
    options = [name for name in tool.__kwdefaults__ if f"`{name}" not in text]
    assert options == []


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The plugin that the skill shows, written out and installed as ``pip install --editable`` does."""
    folder, site = tmp_path / "project", tmp_path / "site"
    for path, text in files_of(DATA / "create-tool-plugin" / "SKILL.md").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    about = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = site / "acme_words-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n")
    points = "".join(f"{name} = {value}\n" for name, value in about["entry-points"]["oneclaw"].items())
    (info / "entry_points.txt").write_text(f"[oneclaw]\n{points}")
    for entry in (str(site), str(folder)):
        monkeypatch.syspath_prepend(entry)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_words"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    importlib_metadata.MetadataPathFinder.invalidate_caches()


@pytest.mark.long
@pytest.mark.one_python
def test_the_plugin_it_shows_works_and_so_do_its_tests(project, tmp_path):
    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}, start_directory=tmp_path) as claw:
            (record,) = [each for each in claw.catalog.plugins if each.name == "words"]
            return record, (await claw.call_tool("count_words", '{"text": "one two"}')).result.result

    record, count = asyncio.run(run())
    assert (record.problems, record.tools, record.groups) == ([], ["count_words", "count_words_in_file"], ["words"])
    assert count == 2
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{project}:{tmp_path / 'site'}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout + tests.stderr


@pytest.mark.long
def test_the_manifest_and_the_hooks_in_the_details_are_right(project, tmp_path):
    (manifest,) = blocks(DETAILS, "json")
    package = project / "acme_words"
    (package / "words.json").write_text(manifest)
    (package / "letters.py").write_text("def count_letters(text):\n    return len(text)\n")
    loaded = load_manifest(package / "words.json")
    assert (loaded.problems, loaded.group.name, [each.definition.name for each in loaded.tools]) == (
        (), "words", ["count_letters"],
    )  # fmt: skip
    skill = package / "skills" / "word-statistics"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: word-statistics\ndescription: Count.\n---\nCount.\n")
    hooks = [re.sub(r"^from .*\n", "", text, flags=re.MULTILINE) for text in blocks(DETAILS, "python")]
    imports = "from importlib.resources import files\nfrom oneclaw_core import hookimpl\n"
    (package / "__init__.py").write_text(imports + "".join(hooks))

    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}, start_directory=tmp_path) as claw:
            (record,) = [each for each in claw.catalog.plugins if each.name == "words"]
            return record, SkillCatalog(claw.catalog.skills).find("word-statistics")

    record, found = asyncio.run(run())
    assert (record.problems, record.tools, record.skills) == ([], ["count_letters"], ["word-statistics"])
    assert found.origin == "plugin words (acme-words 0.1.0)"


def test_the_skill_that_is_shown_is_valid(tmp_path):
    (pattern,) = blocks(DATA / "create-skill" / "references" / "pattern.md", "markdown")
    folder = tmp_path / "weekly-report"
    folder.mkdir()
    (folder / "SKILL.md").write_text(pattern)
    entry = read_entry(SkillFolder(folder))
    assert (entry.status, entry.problems) == (SkillStatus.OK, ())
    assert entry.skill.document.allowed_tools == ("read_file", "write_file")
