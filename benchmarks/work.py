"""The rows of the table: what is done, by whom, and with how much of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """One kind of work.

    Attributes:
        name: for the command line.
        title: for people.
        unit: of what is measured, ``s``, ``MB``, ``tokens`` or ``1/s``.
        sizes: how much of it: tools, messages, sessions or pieces of text.
        size_of: what the sizes count.
        is_more_better: whether the larger figure is the better one.
        budget: what docs promise, in words; empty if nothing.
        note: what a reader must know.
    """

    name: str
    title: str
    unit: str
    sizes: tuple[int, ...]
    size_of: str
    is_more_better: bool = False
    budget: str = ""
    note: str = ""


WORKS = (
    Work(
        "turn",
        "A turn of three model requests: load a group, call its tool, answer",
        "s",
        (100, 1_000, 10_000),
        "tools",
        budget="5 ms at any number of tools",
        note=(
            "The model answers at once. OneClaw stores every message, call and result in a SQLite file; the others "
            "store nothing. openai-agents and llm send all tools with each request, so their turn has two requests."
        ),
    ),
    Work(
        "register",
        "Registering tools that are there as names, descriptions and schemas",
        "s",
        (100, 1_000, 10_000),
        "tools",
        budget="0.5 s for 10,000",
    ),
    Work(
        "call",
        "One tool call through the engine, over calling the function",
        "s",
        (100,),
        "tools",
        budget="0.3 ms",
        note="Checking arguments and permission, the timeout and the result are in it where the framework has them.",
    ),
    Work(
        "resume",
        "The next turn of a long session",
        "s",
        (10, 1_000, 16_000, 100_000),
        "messages",
        budget="20 ms more at 100,000 than new",
        note=(
            "A turn of one request. OneClaw reads the session from its SQLite file and sends what fits its window; the "
            "others are given the history as objects in memory. What takes over a minute is left out."
        ),
    ),
    Work(
        "stream",
        "An answer in pieces, for each piece",
        "s",
        (2_000,),
        "pieces",
        note="From a model in the same process to the program that shows them.",
    ),
    Work(
        "sessions",
        "Turns a second of one process, each of two requests to a model that answers after 50 ms",
        "1/s",
        (1, 16, 64, 256),
        "sessions at once",
        is_more_better=True,
        note="No more than 10 turns a second are to be had for each session.",
    ),
    Work(
        "tokens",
        "Tokens of the tools in a request (o200k) with the list of groups, all plugins installed",
        "tokens",
        (0, 1),
        "loaded groups",
        budget="3,000 in a first request",
        note="With one group, that of mail is loaded. workspace-mcp sends the tools of all of its services.",
    ),
    Work("idle", "Memory of an idle session of 20 messages", "MB", (200,), "sessions"),
)

COMMANDS = {
    "oneclaw": ("oneclaw", "tools", "list"),
    "llm": ("llm", "tools", "list"),
}
IMPORTS = {
    "floor": "pass",
    "oneclaw": "import oneclaw_core",
    "pydantic-ai": "import pydantic_ai",
    "openai-agents": "import agents",
    "llm": "import llm",
    "langgraph-bigtool": "import langgraph_bigtool",
    "fastmcp": "import fastmcp",
}
CONTESTANTS = (
    "floor",
    "oneclaw",
    "pydantic-ai",
    "openai-agents",
    "llm",
    "langgraph-bigtool",
    "fastmcp",
    "workspace-mcp",
)
