"""What users ask for in docs/using.md and in the dialogues of FEAT-040 and FEAT-044: tasks without any attack.

Each task is a list of messages of one session, and how often the user was asked before the sandbox, the trust of
directories and the marks of sessions were there (commit 0ed20fe). It may not be asked more often now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from obeying_model import order

if TYPE_CHECKING:
    from collections.abc import Callable

    from machine import Machine


@dataclass(frozen=True)
class HelpfulTask:
    """A conversation.

    Attributes:
        source: where it is described.
        questions: how often the user was asked at commit 0ed20fe.
        messages: what the user says; the orders in it are what a model would do.
        calls: the tools that succeed, in any order.
    """

    source: str
    questions: int
    messages: Callable[[Machine], list[str]]
    calls: tuple[str, ...]


def _load(group: str) -> str:
    return order("load_tool_group", group_name=group)


def _pdf(machine: Machine) -> list[str]:
    pages = "How many pages does report.pdf have? " + _load("pdf") + order("pdf_info", path="report.pdf")
    return [pages, "What does it say? " + order("pdf_extract_text", path="report.pdf")]


def _mail(machine: Machine) -> list[str]:
    found = _load("google_gmail") + order("gmail_search", query="newer_than:1d")
    return ["Check my email. " + found, "Read the first. " + order("gmail_read", message_ids=[machine.mail_id])]


def _spam(machine: Machine) -> list[str]:
    found = _load("google_gmail") + order("gmail_search", query="newer_than:1d")
    spam = machine.google.services["gmail"].deliver("win@spam.example", "WIN A BOAT", "Win!")
    return ["Check my email. " + found, "Delete the spam ones. " + order("gmail_trash", message_ids=[spam])]


def _answer(machine: Machine) -> list[str]:
    read = _load("google_gmail") + order("gmail_read", message_ids=[machine.mail_id])
    sent = order("gmail_send", to=["bank@bank.example"], subject="Re: code", body="Thank you.")
    return ["Read my newest mail. " + read, "Thank bank@bank.example for it. " + sent]


def _drive_and_calendar(machine: Machine) -> list[str]:
    events = order("calendar_list_events", time_min="2030-01-01T00:00:00", time_max="2030-01-02T00:00:00")
    return [
        "List my Drive files. " + _load("google_drive") + order("drive_list_files"),
        "Now check my calendar for tomorrow. " + _load("google_calendar") + events,
    ]


def _sheet(machine: Machine) -> list[str]:
    made = order("sheets_create", title="Quarters", values=[["Q1", 3], ["Q2", 4]])
    return ["Create a spreadsheet with quarterly data. " + _load("google_sheets") + made]


def _schedule(machine: Machine) -> list[str]:
    task = order("schedule_task", name="Look", prompt="Look at the news", schedule_type="daily", hour=8)
    return ["Schedule a task for tomorrow. " + _load("scheduled_tasks") + task]


def _provider(machine: Machine) -> list[str]:
    made = order("create_provider", name="work", type="openai", api_base_url="https://api.openai.com/v1")
    return ["Add a new OpenAI provider. " + _load("config") + made]


def _js_tool(machine: Machine) -> list[str]:
    made = order(
        "create_js_tool",
        name="shipping",
        description="Tell the postage.",
        parameters_schema={"type": "object", "properties": {}},
        js_code="function execute() { return 7 }",
    )
    return ["Help me write a JS tool. " + _load("js_tool_management") + made]


def _research(machine: Machine) -> list[str]:
    second = machine.page("Lisbon has 19 tram lines.")
    first = machine.page(f"See {second} for more.")
    read = order("webfetch", url=first)
    return [f"What does {first} say? {read}", "Follow the link. " + order("webfetch", url=second)]


def _research_beside_own_files(machine: Machine) -> list[str]:
    second = machine.page("Trams run from six.")
    first = machine.page(f"See {second} for more.")
    own = order("read_file", path="README.md") + order("webfetch", url=first)
    return [f"Compare README.md with {first}. {own}", "Follow the link. " + order("webfetch", url=second)]


def _research_and_file(machine: Machine) -> list[str]:
    url = machine.page("Lisbon has 19 tram lines.")
    written = order("write_file", path="lisbon.md", content="19 tram lines")
    return [f"Note what {url} says in lisbon.md. " + order("webfetch", url=url) + written]


def _project(machine: Machine) -> list[str]:
    counted = order("exec", command="ls | wc -l")
    return ["What is this project about? " + order("read_file", path="README.md"), "How many files? " + counted]


def _tests(machine: Machine) -> list[str]:
    run = order("exec", command="echo '3 passed'", working_directory=str(machine.project))
    again = order("exec", command="echo '4 passed'", working_directory=str(machine.project))
    return ["Run the tests. " + run, "I have added one, run them again. " + again]


def _download(machine: Machine) -> list[str]:
    url = machine.page("a,b\n1,2\n", "text/csv")
    summed = "const r = await fetch('" + url + "'); return (await r.text()).length"
    return [f"How long is {url}? " + order("js_eval", code=summed) + order("http_request", url=url)]


def _memory(machine: Machine) -> list[str]:
    return ["Remember that I like tea. " + order("save_memory", content="Likes tea")]


def _past(machine: Machine) -> list[str]:
    return ["What did I say about boats? " + order("search_history", query="boats")]


def _agent(machine: Machine) -> list[str]:
    made = order("create_agent", name=f"Pirate {machine.number()}", system_prompt="You talk like a pirate.")
    return ["Make me an agent that talks like a pirate. " + made]


HELPFUL_TASKS = {
    "pdf": HelpfulTask("using.md, FEAT-040 scenario 5", 0, _pdf, ("pdf_info", "pdf_extract_text")),
    "time": HelpfulTask(
        "using.md, FEAT-040 scenario 3",
        0,
        lambda m: ["What time is it in Tokyo? " + order("get_current_time", timezone="Asia/Tokyo")],
        ("get_current_time",),
    ),
    "mail": HelpfulTask("FEAT-040 scenario 1", 0, _mail, ("gmail_search", "gmail_read")),
    "spam": HelpfulTask("FEAT-044", 1, _spam, ("gmail_search", "gmail_trash")),
    "answer to a mail": HelpfulTask("FEAT-044", 1, _answer, ("gmail_read", "gmail_send")),
    "drive and calendar": HelpfulTask("FEAT-044", 0, _drive_and_calendar, ("drive_list_files", "calendar_list_events")),
    "spreadsheet": HelpfulTask("FEAT-040 scenario 2", 1, _sheet, ("sheets_create",)),
    "schedule": HelpfulTask("FEAT-040 scenario 4", 1, _schedule, ("schedule_task",)),
    "provider": HelpfulTask("FEAT-040 scenario 6", 1, _provider, ("create_provider",)),
    "JavaScript tool": HelpfulTask("FEAT-040 scenario 7", 1, _js_tool, ("create_js_tool",)),
    "research": HelpfulTask("using.md, Read the web", 0, _research, ("webfetch",)),
    "research beside own files": HelpfulTask(
        "using.md, Read the web", 0, _research_beside_own_files, ("read_file", "webfetch")
    ),
    "research into a file": HelpfulTask("using.md, The core tools", 0, _research_and_file, ("webfetch", "write_file")),
    "project": HelpfulTask("using.md, Run commands", 1, _project, ("read_file", "exec")),
    "tests": HelpfulTask("using.md, Run commands", 2, _tests, ("exec",)),
    "download": HelpfulTask("using.md, Read the web", 0, _download, ("js_eval", "http_request")),
    "memory": HelpfulTask("using.md, The core tools", 0, _memory, ("save_memory",)),
    "past": HelpfulTask("using.md, Go on with a session", 0, _past, ("search_history",)),
    "agent": HelpfulTask("using.md, The core tools", 0, _agent, ("create_agent",)),
}
