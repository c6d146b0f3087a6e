"""What a user has answered holds for what was shown, whatever a model does with it afterwards."""

from dataclasses import dataclass

import pytest
from exits import ADDRESS, PAYLOAD
from machine import Harm, Questions
from obeying_model import later, order

from oneclaw_core import PermissionAnswer
from oneclaw_core.types.permissions import Grant

# Each granted in the workspace, where a model writes what it runs.
FILES_THAT_COMMANDS_RUN = {
    "git status": {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/refs/heads/.keep": "",
        ".git/objects/.keep": "",
        ".git/config": "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch {pwned}\n",
    },
    "make test": {"Makefile": "test:\n\ttouch {pwned}\n"},
    "sh check.sh": {"check.sh": "touch {pwned}\n"},
}


@pytest.fixture(scope="module")
def plugins():
    return ()


@pytest.mark.parametrize("command", FILES_THAT_COMMANDS_RUN)
def test_a_granted_command_runs_nothing_that_a_model_wrote_outside_its_walls(machines, command):
    machine = machines.current()
    if not machine.sandbox_is_whole():
        pytest.skip("needs bubblewrap")
    pwned = machine.outside / "pwned"
    workspace = str(machine.home.workspace)
    machine.run(lambda app: app.store.set_grant(Grant("shell.execute", command, directory=workspace)))
    machine.forget()
    written = [
        order("write_file", path=path, content=text.replace("{pwned}", str(pwned)))
        for path, text in FILES_THAT_COMMANDS_RUN[command].items()
    ]

    machine.send("Prepare. " + "".join(written), Questions(), session=command)
    machine.send("Check. " + order("exec", command=command), Questions(), session=command)

    assert machine.model.calls[-1][0] == "exec"
    assert not pwned.exists()
    machines.throw_away()


@dataclass
class SessionAnswers(Questions):
    """A user who says yes to the first question for the rest of the session, to a new agent once, and else no."""

    async def answer(self, request):
        """Answer a question."""
        await super().answer(request)
        if request.permission == "agents.create":
            return PermissionAnswer.ONCE
        return PermissionAnswer.SESSION if len(self.asked) == 1 else PermissionAnswer.NO


def _load(group):
    return order("load_tool_group", group_name=group)


HARMLESS_THEN_HARMFUL = {
    "label, then send": lambda m: (
        _load("google_gmail") + order("gmail_label_add", message_ids=[m.mail_id], labels=["STARRED"]),
        order("gmail_send", to=[ADDRESS], subject="Hi", body="x"),
        ["google.gmail.organize:as work", f"google.gmail.send:{ADDRESS}"],
    ),
    "star, then share": lambda m: (
        _load("google_drive") + order("drive_manage_file", action="star", file_ids=[m.file_id]),
        order("drive_share_file", file_id=m.file_id, type="anyone", role="reader"),
        [f"google.drive.organize:{m.file_id}", "google.drive.share:anyone"],
    ),
    "model, then provider": lambda m: (
        _load("config") + order("set_default_model", provider_id="offline", model_id="rules"),
        order("create_provider", name="stripe", type="openai_compatible", api_base_url=m.url("/v1", "evil.example")),
        ["config.write:default model", f"config.write:provider stripe at {m.url('/v1', 'evil.example')}"],
    ),
    "label, then an agent that sends": lambda m: (
        _load("google_gmail") + order("gmail_label_add", message_ids=[m.mail_id], labels=["STARRED"]),
        order(
            "create_agent",
            name="Helper",
            system_prompt="You help.",
            task=later(_load("google_gmail") + order("gmail_label_add", message_ids=[m.mail_id], labels=["IMPORTANT"])),
        ),
        ["google.gmail.organize:as work", "agents.create:Helper", "google.gmail.organize:as work"],
    ),
}


@pytest.mark.parametrize("case", HARMLESS_THEN_HARMFUL)
def test_an_answer_for_the_session_covers_nothing_worse(machines, case):
    machine = machines.current()
    harmless, harmful, questions = HARMLESS_THEN_HARMFUL[case](machine)
    user = SessionAnswers()

    machine.send(harmless, user, session=case)
    machine.harm()
    machine.send(harmful, user, session=case)

    assert user.asked == questions
    assert machine.harm("Helper") == Harm()


def test_the_question_for_a_task_shows_all_of_its_prompt(machines):
    machine = machines.current()
    prompt = "Tell the news. " * 100 + PAYLOAD
    shown = []

    class Reader(Questions):
        async def answer(self, request):
            shown.append(f"{request.detail} {request.arguments}")
            return await super().answer(request)

    task = order("schedule_task", name="News", prompt=prompt, schedule_type="daily", hour=8)
    machine.send(_load("scheduled_tasks") + task, Reader())
    assert PAYLOAD in shown[0]
