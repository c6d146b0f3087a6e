"""Trust in the start directory, and what files it opens: through real tools, the executor and the policy."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from how_long import some

from oneclaw_core import OneClaw, PermissionAnswer, ToolContext, tool
from oneclaw_core.types.permissions import Grant

if TYPE_CHECKING:
    from oneclaw_core import PermissionRequest


class Person:
    """Answers questions by the permission, and remembers them."""

    def __init__(self, **answers: PermissionAnswer) -> None:
        self.answers = {name.replace("_", "."): answer for name, answer in answers.items()}
        self.asked: list[PermissionRequest] = []

    async def __call__(self, request: PermissionRequest) -> PermissionAnswer:
        self.asked.append(request)
        return self.answers.get(request.permission, PermissionAnswer.NO)

    @property
    def questions(self) -> list[tuple[str, str | None]]:
        return [(each.permission, each.subject) for each in self.asked]


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "a.py").write_text("old")
    (directory / ".env").write_text("KEY=1")
    return directory


@pytest.fixture
def open_home(tmp_path, project):
    @asynccontextmanager
    async def opened(ask=None, allow=(), start=project):
        async with OneClaw.open(tmp_path / "home", ask=ask, allow=allow, environ={}, start_directory=start) as claw:
            yield claw

    return opened


@pytest.fixture
def call(open_home):
    """Call one tool in a home that is opened for it."""

    def called(name, arguments, ask=None, allow=(), **options):
        async def run():
            async with open_home(ask, allow, **options) as claw:
                return (await claw.call_tool(name, arguments)).result

        return asyncio.run(run())

    return called


ALWAYS, ONCE, SESSION, NO, NEVER = (
    PermissionAnswer.ALWAYS,
    PermissionAnswer.ONCE,
    PermissionAnswer.SESSION,
    PermissionAnswer.NO,
    PermissionAnswer.NEVER,
)


# --- hidden files ---


def test_a_hidden_file_is_not_read_by_default(call):
    result = call("read_file", {"path": ".env"})
    assert result.error_type == "permission_denied"
    assert "oneclaw permissions grant files.read:" in result.error_message
    assert "grant files.read\n" not in result.error_message


def test_an_ordinary_file_is_read_without_a_question(call):
    person = Person()
    assert call("read_file", {"path": "a.py"}, person).result == "old"
    assert person.questions == []


def test_a_hidden_file_is_read_after_a_question_that_names_it(call, project):
    person = Person(files_read=ONCE)
    assert call("read_file", {"path": ".env"}, person).result == "KEY=1"
    assert person.questions == [("files.read", str(project / ".env"))]


def test_a_link_to_a_hidden_file_asks_for_the_file(call, project):
    (project / "notes.txt").symlink_to(".env")
    person = Person()
    assert call("read_file", {"path": "notes.txt"}, person).error_type == "permission_denied"
    assert person.questions == [("files.read", str(project / ".env"))]


@pytest.mark.parametrize("allow", some(["files.read", "files.read:{project}", "files.read:{project}/a.py"], 3))
def test_no_grant_of_less_than_its_name_opens_a_hidden_file(call, project, allow):
    allow = allow.format(project=project)
    assert call("read_file", {"path": ".env"}, allow=[allow]).error_type == "permission_denied"


@pytest.mark.long
def test_a_grant_that_names_a_hidden_file_opens_it(call, project):
    assert call("read_file", {"path": ".env"}, allow=[f"files.read:{project}/.env"]).result == "KEY=1"


def test_a_grant_of_a_hidden_folder_opens_what_is_in_it(call, project):
    (project / ".ssh").mkdir()
    (project / ".ssh" / "id_rsa").write_text("key")
    assert call("read_file", {"path": ".ssh/id_rsa"}, allow=[f"files.read:{project}/.ssh"]).result == "key"


@pytest.mark.long
def test_a_lasting_answer_is_for_this_hidden_file_alone(call, project):
    (project / "server.pem").write_text("pem")
    assert call("read_file", {"path": ".env"}, Person(files_read=ALWAYS)).is_success
    assert call("read_file", {"path": ".env"}).is_success
    assert call("read_file", {"path": "server.pem"}).error_type == "permission_denied"


def test_a_hidden_file_that_is_missing_asks_nothing(call):
    person = Person()
    assert "File not found" in call("read_file", {"path": ".env.local"}, person).error_message
    assert person.questions == []


def test_javascript_asks_for_hidden_files(call, project):
    person = Person()
    result = call("js_eval", {"code": "return await fs.readFile('.env')"}, person)
    assert "KEY" not in str(result)
    assert ("files.read", str(project / ".env")) in person.questions


def test_an_isolated_tool_asks_for_hidden_files(call, project):
    (project / "credentials.json").write_text("no pdf")
    result = call("pdf_info", {"path": "credentials.json"})
    assert result.error_type == "permission_denied"
    person = Person(files_read=ONCE)
    result = call("pdf_info", {"path": "credentials.json"}, person)
    assert "is not a PDF file" in result.error_message
    assert person.questions == [("files.read", str(project / "credentials.json"))]


@pytest.mark.long
def test_an_async_tool_asks_for_hidden_files(open_home, project):
    @tool
    async def first_line(path: str, context: ToolContext) -> str:
        """Read a file."""
        return (await context.readable(path)).read_text()

    async def run(person):
        async with open_home(person) as claw:
            claw.add_tools(first_line)
            return (await claw.call_tool("first_line", {"path": ".env"})).result

    assert asyncio.run(run(Person())).error_type == "permission_denied"
    assert asyncio.run(run(Person(files_read=ONCE))).result == "KEY=1"


@pytest.mark.long
def test_the_users_own_directory_is_not_read_by_default(call, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "diary.txt").write_text("dear")
    assert call("read_file", {"path": "diary.txt"}, start=tmp_path).error_type == "permission_denied"
    assert call("read_file", {"path": "diary.txt"}, start=tmp_path, allow=["files.read"]).result == "dear"
    assert call("read_file", {"path": "diary.txt"}, Person(files_read=ONCE), start=tmp_path).result == "dear"


# --- trust ---


def test_a_directory_that_is_not_trusted_is_not_written(call, project):
    result = call("write_file", {"path": str(project / "new.py"), "content": "x"})
    assert result.error_type == "permission_denied"
    assert f"oneclaw trust {project}" in result.error_message
    assert not (project / "new.py").exists()


def test_a_write_never_seems_to_change_another_file(call, project, tmp_path):
    # Issue 19: "Wrote 6 bytes to a.py", but ./a.py was unchanged, and read_file returned the old text.
    result = call("write_file", {"path": "a.py", "content": "new"})
    assert result.error_type == "permission_denied"
    assert (project / "a.py").read_text() == "old"
    assert not (tmp_path / "home" / "workspace" / "a.py").exists()


@pytest.mark.long
def test_a_new_file_of_a_directory_that_is_not_trusted_lies_in_the_workspace(call, tmp_path):
    person = Person(directory_trust=ALWAYS)
    result = call("write_file", {"path": "notes.txt", "content": "new"}, person)
    assert person.questions == []
    assert result.result == f"Wrote 3 bytes to {tmp_path}/home/workspace/notes.txt"
    assert call("read_file", {"path": "notes.txt"}).result == "new"


@pytest.mark.long
def test_trust_is_asked_for_once_and_covers_the_write_that_needed_it(call, project):
    person = Person(directory_trust=ALWAYS, files_write=ONCE)
    result = call("write_file", {"path": "a.py", "content": "new"}, person)
    assert result.result == f"Wrote 3 bytes to {project}/a.py"
    assert (project / "a.py").read_text() == "new"
    assert person.questions == [("directory.trust", str(project))]
    assert str(project / "a.py") in person.asked[0].detail

    again = Person(files_write=ONCE)
    assert call("write_file", {"path": "a.py", "content": "newer"}, again).is_success
    assert again.questions == [("files.write", str(project / "a.py"))]
    assert call("read_file", {"path": "a.py"}).result == "newer"


def test_a_refusal_is_remembered_until_the_program_ends(open_home, project, tmp_path):
    person = Person()

    async def run():
        async with open_home(person) as claw:
            for name in ("a.py", "src/new.py", "a.py"):
                await claw.call_tool("write_file", {"path": name, "content": "x"})

    (project / "src").mkdir()
    asyncio.run(run())
    assert person.questions == [("directory.trust", str(project))]
    assert (project / "a.py").read_text() == "old"
    assert (tmp_path / "home" / "workspace" / "src" / "new.py").exists()


@pytest.mark.long
def test_never_is_for_this_directory_alone(call, project, tmp_path):
    person = Person(directory_trust=NEVER)
    assert call("write_file", {"path": "a.py", "content": "x"}, person).error_type == "permission_denied"
    assert call("write_file", {"path": "a.py", "content": "x"}, person).error_type == "permission_denied"
    assert person.questions == [("directory.trust", str(project))]

    start = tmp_path / "other"
    start.mkdir()
    other = Person(directory_trust=ONCE)
    assert call("write_file", {"path": str(start / "b.py"), "content": "x"}, other, start=start).is_success
    assert other.questions == [("directory.trust", str(start))]
    assert (start / "b.py").exists()


@pytest.mark.long
def test_trust_does_not_hold_below_or_above(call, project):
    (project / "sub").mkdir()
    for start in (project / "sub", project.parent):
        result = call(
            "write_file",
            {"path": str(start / "x.py"), "content": "x"},
            start=start,
            allow=[f"directory.trust:{project}"],
        )
        assert result.error_type == "permission_denied"


@pytest.mark.long
def test_an_answer_for_the_session_or_for_good_is_for_the_directory(call, project):
    trusted = [f"directory.trust:{project}"]
    assert call("write_file", {"path": "a.py", "content": "x"}, Person(files_write=ALWAYS), trusted).is_success
    assert call("write_file", {"path": "sub/b.py", "content": "x"}, allow=trusted).is_success
    for path in (".env", ".git/config", "sub/.git/hooks/pre-commit"):
        result = call("write_file", {"path": path, "content": "x"}, allow=trusted)
        assert result.error_type == "permission_denied", path
    assert (project / ".env").read_text() == "KEY=1"


@pytest.mark.long
def test_an_allowed_write_for_the_run_does_not_cover_protected_paths(call, project):
    allow = [f"directory.trust:{project}", "files.write"]
    assert call("write_file", {"path": "a.py", "content": "x"}, allow=allow).is_success
    assert call("write_file", {"path": ".git/config", "content": "x"}, allow=allow).error_type == "permission_denied"
    named = [*allow, f"files.write:{project}/.git/config"]
    assert call("write_file", {"path": ".git/config", "content": "x"}, allow=named).is_success


def test_version_control_in_the_workspace_is_protected(call):
    result = call("write_file", {"path": "repo/.git/config", "content": "[core]\nfsmonitor = evil"})
    assert result.error_type == "permission_denied"


@pytest.mark.long
def test_relative_paths_of_all_tools_lie_in_a_trusted_directory(call, project, tmp_path):
    trusted = [f"directory.trust:{project}", "files.write", "shell.execute"]
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    (tmp_path / "home" / "workspace" / "only-here.txt").write_text("x")
    assert call("read_file", {"path": "only-here.txt"}, allow=trusted).error_type == "execution_error"
    assert call("exec", {"command": "cat a.py && pwd"}, allow=trusted).result.endswith(f"old{project}")
    code = "await fs.writeFile('js.txt', 'from js'); return await fs.readFile('js.txt')"
    assert "from js" in str(call("js_eval", {"code": code}, allow=trusted).result)
    assert (project / "js.txt").read_text() == "from js"


@pytest.mark.long
def test_the_users_own_directory_is_never_asked_for(call, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    person = Person(directory_trust=ALWAYS)
    assert call("write_file", {"path": "x.txt", "content": "x"}, person, start=tmp_path).is_success
    assert person.questions == []
    assert not (tmp_path / "x.txt").exists()


def test_a_grant_of_version_01_is_for_the_workspace(call, open_home, project):
    async def remember():
        async with open_home() as claw:
            await claw.store.set_grant(Grant("files.write", source="version 0.1"))

    asyncio.run(remember())
    result = call("write_file", {"path": "a.py", "content": "x"}, allow=[f"directory.trust:{project}"])
    assert result.error_type == "permission_denied"
    assert call("write_file", {"path": "new.txt", "content": "x"}).is_success
