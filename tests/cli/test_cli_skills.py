"""``oneclaw skills``, and skills in ``oneclaw run`` and ``oneclaw chat``."""

import os
import sys

import pytest
from model_server import text
from pseudo_terminal import PseudoTerminal

MODEL = ("--model", "openai_compatible/test")
SKILL = "---\nname: {name}\ndescription: {description}\n{more}---\nRead {{{{file}}}}.\n"
PLUGIN = """
from importlib.resources import files
from oneclaw_core import hookimpl

@hookimpl
def register_skills(register):
    for name in ("good", "broken"):
        register(files(__name__) / name)
"""


def write(directory, name="report", description="Write reports.", more=""):
    folder = directory / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL.format(name=name, description=description, more=more))
    return folder


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def chat(oneclaw, tmp_path, monkeypatch):
    def talk(*lines, options=()):
        (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
        with (tmp_path / "lines").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return oneclaw("chat", *options)

    return talk


def of(listing, name):
    return next(each for each in listing if each["name"] == name)


def test_all_skills_are_listed(ok, home, project):
    write(home / "skills")
    listing = ok("skills", "list", "--json")
    assert [each["name"] for each in listing] == ["report", "about-oneclaw", "create-skill", "create-tool-plugin"]
    assert of(listing, "report") == {
        "name": "report",
        "description": "Write reports.",
        "source": "home",
        "plugin": None,
        "status": "ok",
        "folder": str(home / "skills" / "report"),
        "groups": [],
        "tools": [],
    }
    assert of(listing, "about-oneclaw")["plugin"] == "skills"
    table = ok("skills", "list").splitlines()
    assert table[0].split() == ["name", "source", "status", "description"]
    assert table[1].split() == ["report", "home", "ok", "Write", "reports."]


def test_shadowing_is_shown(ok, home, project):
    write(home / "skills", "about-oneclaw", "Mine.")
    found = [each for each in ok("skills", "list", "--json") if each["name"] == "about-oneclaw"]
    assert [(each["source"], each["status"]) for each in found] == [("home", "ok"), ("plugin", "shadowed")]
    assert ok("skills", "show", "about-oneclaw").startswith("about-oneclaw: Mine.")


def test_a_skill_is_shown_whole(ok, home, project):
    folder = write(home / "skills", more="license: MIT\nallowed-tools: pdf_info\nmetadata:\n  oneclaw-groups: pdf\n")
    (folder / "guide.md").write_text("x")
    assert ok("skills", "show", "report").splitlines() == [
        "report: Write reports.",
        "from: the home",
        f"folder: {folder}",
        "license: MIT",
        "tool groups: pdf",
        "tools: pdf_info",
        "arguments: {{file}}",
        "files: guide.md",
        "",
        "Read {{file}}.",
    ]
    shown = ok("skills", "show", "report", "--json")
    assert (shown["body"], shown["files"], shown["placeholders"]) == ("Read {{file}}.", ["guide.md"], ["{{file}}"])
    assert (shown["license"], shown["metadata"]) == ("MIT", {"oneclaw-groups": "pdf"})


def test_an_unknown_skill(oneclaw, home, project):
    outcome = oneclaw("skills", "show", "about-oneclew")
    assert outcome.status == 2
    assert "there is no skill 'about-oneclew'; did you mean about-oneclaw?" in outcome.stderr


def test_a_description_cannot_act_on_the_terminal(oneclaw, home, project):
    write(home / "skills", description='"a\\u001b[31mb"')
    for command in (("list",), ("show", "report"), ("check", "report")):
        assert "\x1b" not in oneclaw("skills", *command).stdout


def test_checking(oneclaw, ok, home, project):
    assert "about-oneclaw" in ok("skills", "check")
    folder = write(home / "skills", more="model: big\nallowed-tools: Bash\nmetadata: {oneclaw-groups: music}\n")
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "See [it](references/a.md), `[b](c.md)`.\n")
    assert ok("skills", "check", "report").splitlines() == [
        f"report ({folder}): ok, with notes",
        "  note: line 4: 'model' is not a field of the format, and is passed over",
        "    what to do: put it under metadata:",
        "  note: the instructions refer to 'references/a.md', which is not a file in the skill's folder",
        "    what to do: add the file, or correct its path",
        "  note: the instructions refer to 'c.md', which is not a file in the skill's folder",
        "    what to do: add the file, or correct its path",
        "  note: tool groups it needs are not here: music",
        "    what to do: install or enable them",
        "  note: tools it names are not here: Bash",
        "    what to do: name tools that `oneclaw tools list` shows",
    ]
    broken = write(home / "skills", "broken", description="''")
    outcome = oneclaw("skills", "check", "broken")
    assert outcome.status == 1
    assert outcome.stdout.splitlines() == [
        f"broken ({broken}): broken",
        "  error: line 3: description is missing",
        "    what to do: say in a sentence or two what the skill does and when to use it",
    ]
    assert oneclaw("skills", "check").status == 1
    outcome = oneclaw("skills", "check", "broken", "--json")
    (document,) = outcome.json
    assert (outcome.status, document["status"]) == (1, "broken")
    assert document["findings"] == [
        {
            "message": "description is missing",
            "remedy": "say in a sentence or two what the skill does and when to use it",
            "line": 3,
            "is_error": True,
        }
    ]


@pytest.mark.parametrize("path", ["here/report", "./here/report/", "here/report/SKILL.md", "{cwd}/here/report"])
def test_checking_a_folder(ok, home, project, path):
    write(project / "here")
    assert ok("skills", "check", path.format(cwd=project)).endswith("report): ok\n")


def test_checking_what_is_not_there(oneclaw, home, project):
    assert oneclaw("skills", "check", "nothing").status == 2
    outcome = oneclaw("skills", "check", "./nothing")
    assert outcome.status == 1
    assert "the skill's folder has no file 'SKILL.md'" in outcome.stdout


def test_a_skill_that_has_the_name_of_a_command_is_noted(ok, home, project):
    write(home / "skills", "clear")
    assert "/clear is a command of `oneclaw chat`, which goes first" in ok("skills", "check", "clear")


def test_a_new_skill(ok, oneclaw, home, project):
    assert "is made" in ok("skills", "new", "my-report", "--description", "Write my report: always.")
    assert (home / "skills" / "my-report" / "SKILL.md").is_file()
    assert ok("skills", "check", "my-report").endswith(": ok\n")
    assert of(ok("skills", "list", "--json"), "my-report")["description"] == "Write my report: always."
    assert oneclaw("skills", "new", "my-report").status == 2
    assert oneclaw("skills", "new", "../x").status == 2


def test_adding_a_skill(ok, oneclaw, home, project):
    write(project / "here")
    assert ok("skills", "add", "here/report") == f"skill report is added, in {home / 'skills' / 'report'}\n"
    assert of(ok("skills", "list", "--json"), "report")["source"] == "home"
    assert oneclaw("skills", "add", "here/report").status == 2
    outcome = oneclaw("skills", "add", "nowhere")
    assert outcome.status == 1
    assert "is not a skill that can be used" in outcome.stderr


def test_a_projects_skills_are_used_when_it_is_trusted(ok, oneclaw, home, project):
    outcome = oneclaw("skills", "new", "deploy", "--project")
    assert (outcome.status, (project / ".agents" / "skills" / "deploy" / "SKILL.md").is_file()) == (0, True)
    assert "then: oneclaw skills trust" in outcome.stderr
    assert of(ok("skills", "list", "--json"), "deploy")["status"] == "untrusted"
    assert "deploy" not in ok("prompt")
    assert ok("skills", "trust") == f"{project} is trusted; its skills are used: deploy\n"
    assert of(ok("skills", "list", "--json"), "deploy")["status"] == "ok"
    assert "- deploy: " in ok("prompt")
    assert ok("skills", "trust", "--remove") == f"{project} is not trusted any more\n"
    assert ok("skills", "trust", "--remove", str(project)) == f"{project} was not trusted\n"
    assert of(ok("skills", "list", "--json"), "deploy")["status"] == "untrusted"
    assert oneclaw("skills", "trust", "nowhere").status == 2


def test_trust_cannot_be_set_where_tools_may_set_things(oneclaw, home, project):
    assert oneclaw("config", "set", "trusted_projects", str(project)).status == 2


def test_a_plugins_skills(ok, oneclaw, home, project, install_plugin):
    package = install_plugin("words", PLUGIN)
    write(package, "good")
    write(package, "broken", description="''")
    assert of(oneclaw("skills", "list", "--json").json, "good")["plugin"] == "words"
    record = of(oneclaw("plugins", "list", "--json").json, "words")
    assert (record["status"], record["skills"]) == ("degraded", ["good", "broken"])
    (problem,) = record["problems"]
    assert problem["where"] == "register_skills"
    assert problem["cause"].endswith("broken/SKILL.md: line 3: description is missing")
    doctor = oneclaw("doctor", "--json")
    assert "broken/SKILL.md: line 3: description is missing" in doctor.stdout


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_running_with_a_skill(serve, ok, oneclaw, home, project):
    write(home / "skills", more="allowed-tools: pdf_info\n")
    server = serve(text("Done."), text("As you like."))
    assert oneclaw("run", *MODEL, "/report a.pdf").stdout == "Done.\n"
    messages = server.bodies[0]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[1]["content"].startswith("/report a.pdf\n\nSkill 'report': Write reports.\n")
    assert messages[1]["content"].endswith("Read a.pdf.")
    assert "pdf_info" in [tool["function"]["name"] for tool in server.bodies[0]["tools"]]
    (session,) = ok("sessions", "list", "--json")
    assert session["title"] == "/report a.pdf"
    oneclaw("run", *MODEL, "/etc/hosts says what?")
    assert server.bodies[1]["messages"][1]["content"] == "/etc/hosts says what?"


def test_skills_in_a_chat(serve, chat, home, project):
    write(home / "skills")
    write(home / "skills", "clear")
    server = serve(text("One."), text("Two."))
    outcome = chat("/report a.pdf", "/report", "/skills", "/clear now", "/repor", options=MODEL)
    assert "One.\nTwo.\n" in outcome.stdout
    assert "/create-skill" in outcome.stdout
    assert "A new session begins" in outcome.stdout
    assert "there is no command /repor; did you mean /report" in outcome.stderr
    contents = [body["messages"][-1]["content"] for body in server.bodies]
    assert [content.partition("\n")[0] for content in contents] == ["/report a.pdf", "/report"]


def test_a_skill_that_cannot_be_used_says_why_and_does_not_end_a_chat(serve, chat, home, project):
    write(home / "skills", "broken", description="''")
    write(project / ".agents" / "skills", "deploy")
    serve(text("Hello."))
    outcome = chat("/broken", "/deploy", "hi", options=MODEL)
    assert outcome.stdout == "Hello.\n"
    assert "the skill 'broken' cannot be used: line 3: description is missing" in outcome.stderr
    assert "the skill 'deploy' belongs to the project" in outcome.stderr


@pytest.mark.long
@pytest.mark.one_python
def test_completion_leaves_room_for_arguments(serve, home, project):
    write(home / "skills", "quarterly-report", "Write quarterly reports.")
    server = serve(text("One."))
    with PseudoTerminal("chat", *MODEL, environ=os.environ) as terminal:
        terminal.expect("Ctrl-D leaves.")
        terminal.expect(">")
        terminal.type("/quart")
        terminal.expect("Write quarterly reports.")
        terminal.type("\t\r")
        terminal.type("a.pdf\r")
        terminal.expect("One.")
        terminal.expect(">")
        terminal.type("/quit\r")
        assert terminal.exit_status() == 0
    (body,) = server.bodies
    assert body["messages"][-1]["content"].startswith("/quarterly-report a.pdf\n\n")


@pytest.mark.long
@pytest.mark.one_python
def test_a_chat_tells_of_skills_that_are_not_used(serve, home, project):
    write(project / ".agents" / "skills", "deploy")
    serve()
    with PseudoTerminal("chat", *MODEL, environ=os.environ) as terminal:
        terminal.expect("The skills of this directory are not used (1); see: oneclaw skills list")
        terminal.expect(">")
        terminal.type("/quit\r")
        assert terminal.exit_status() == 0
