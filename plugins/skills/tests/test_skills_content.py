"""What a model is told when a skill is loaded."""

import pytest
from oneclaw_skills.catalog import read_entry
from oneclaw_skills.content import SkillNeeds, placeholders, skill_command, skill_message, skill_needs, skill_text
from oneclaw_skills.folder import SkillFolder
from skill_files import write_skill

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolRegistry, ToolSourceInfo, ToolSourceType
from oneclaw_core.types.tools import ToolSelection

NOTHING = SkillNeeds((), (), ())


class PlainTool:
    def __init__(self, name):
        self.definition = ToolDefinition(name, f"Does {name}.")

    async def execute(self, arguments, context):
        raise AssertionError("no one calls it here")


@pytest.fixture
def registry():
    registry = ToolRegistry()
    registry.register(PlainTool("read_file"), ToolSourceInfo.BUILTIN)
    for group, name in (("pdf", "pdf_info"), ("pdf", "pdf_text"), ("mail", "mail_send")):
        registry.register_group(ToolGroupDefinition(group, group, group))
        registry.register(PlainTool(name), ToolSourceInfo(ToolSourceType.TOOL_GROUP, group))
    registry.register_group(ToolGroupDefinition("empty", "Empty", "Nothing"))
    return registry


def skill(directory, body="Do it.", **fields):
    return read_entry(SkillFolder(write_skill(directory, body=body, **fields))).skill


def body_of(text):
    return text.partition("\n---\n\n")[2]


def header_of(text):
    return text.partition("\n---\n\n")[0].splitlines()


@pytest.mark.parametrize(
    ("body", "arguments", "filled"),
    [
        ("Read {{file}}.", "a.pdf", "Read a.pdf."),
        ("Read {{ file }}.", " a.pdf ", "Read a.pdf."),
        ("Read {{file}}.", {"file": "a.pdf"}, "Read a.pdf."),
        ("Read {{file}}.", '{"file": "a.pdf"}', "Read a.pdf."),
        ("Read {{file}}.", "file=a.pdf", "Read a.pdf."),
        ("Read {{file}} from {{page}}.", 'file="a b.pdf" page=2', "Read a b.pdf from 2."),
        ("Read {{file}} from {{page}}.", {"page": 2}, "Read {{file}} from 2."),
        ("Read {{file}} from {{page}}.", "a.pdf", "Read {{file}} from {{page}}."),
        ("Read {{file}}.", None, "Read {{file}}."),
        ("Read {{file}}.", "", "Read {{file}}."),
        ("Read {{file}}.", {"file": None}, "Read {{file}}."),
        ("Read {{file}}.", {"other": 1}, "Read {{file}}."),
        ("Read {{file}}.", {"file": ["a", 1]}, 'Read ["a", 1].'),
        ("Do $ARGUMENTS.", "this and that", "Do this and that."),
        ("Do $ARGUMENTS.", {"what": "this"}, 'Do {"what": "this"}.'),
        ("Do $ARGUMENTS.", None, "Do $ARGUMENTS."),
        ("Do $ARGUMENTSX.", "this", "Do $ARGUMENTSX."),
        ("{{a}} {{b}}", {"a": "{{b}}", "b": "$ARGUMENTS"}, "{{b}} $ARGUMENTS"),
        ("{{a}}", r"\1 \g<0>", r"\1 \g<0>"),
        ("{{a}}", '{"a": ' + "[" * 100_000, '{"a": ' + "[" * 100_000),
        ("{{a}} {{b}}", "it's", "{{a}} {{b}}"),
        ("{{ 1x }} {{}} {{a b}} {a}", "x", "{{ 1x }} {{}} {{a b}} {a}"),
    ],
)
def test_arguments_take_their_places_and_what_is_not_given_stays(tmp_path, body, arguments, filled):
    assert body_of(skill_text(skill(tmp_path, body), arguments, NOTHING)) == filled


def test_the_places_of_arguments():
    assert placeholders("{{ a }} $ARGUMENTS {{b}} {{a}} {{1}}") == ["{{a}}", "$ARGUMENTS", "{{b}}"]


def test_the_header_says_what_there_is_to_know(tmp_path):
    folder = write_skill(
        tmp_path, "report", "Write reports.", "Read {{file}} and {{other}}.", compatibility="Needs git"
    )
    (folder / "guide.md").write_text("x" * 2048)
    (folder / "b.txt").write_text("x")
    found = read_entry(SkillFolder(folder)).skill
    assert header_of(skill_text(found, {"file": "a"}, SkillNeeds(("pdf",), ("music",), ("Bash", "Read")))) == [
        "Skill 'report': Write reports.",
        "From: the home",
        f"Folder: {folder}",
        "Needs: Needs git",
        "Tool groups loaded with it: pdf",
        "Tool groups it needs that are not here: music",
        "Tools it names that are not here; use your own instead: Bash, Read",
        'Arguments: {"file": "a"}',
        "Not given, fill them in yourself: {{other}}",
        "Files, read by load_skill with the parameter file: b.txt (1 B), guide.md (2 KB)",
    ]


def test_the_header_of_a_skill_without_anything(tmp_path):
    text = skill_text(skill(tmp_path), None, NOTHING)
    assert header_of(text)[1:] == ["From: the home", f"Folder: {tmp_path / 'report'}"]


def test_the_groups_of_a_skill_are_those_it_names_and_those_of_its_tools(tmp_path, registry):
    found = skill(
        tmp_path, metadata="{oneclaw-groups: mail empty music}", allowed_tools="read_file pdf_text Bash(git:*) pdf_info"
    )
    assert skill_needs(found, registry) == SkillNeeds(("mail", "pdf"), ("empty", "music"), ("Bash(git:*)",))


def test_what_is_disabled_or_not_the_agents_is_not_here(tmp_path, registry):
    found = skill(tmp_path, metadata="{oneclaw-groups: mail}", allowed_tools="read_file pdf_text")
    only_pdf = ToolSelection.naming(groups=["pdf"])
    assert skill_needs(found, registry, only_pdf) == SkillNeeds(("pdf",), ("mail",), ("read_file",))
    registry.set_disabled({"pdf_text"}, {"mail"})
    assert skill_needs(found, registry) == SkillNeeds((), ("mail",), ("pdf_text",))


def test_a_message_with_a_skill_begins_with_what_the_user_typed(tmp_path):
    message = skill_message(skill(tmp_path, "Read {{file}}."), "a.pdf\nand more ", NOTHING)
    assert message.startswith("/report a.pdf\nand more\n\nSkill 'report': ")
    assert message.endswith("\n---\n\nRead a.pdf\nand more.")
    assert skill_command("report", " ") == "/report"
