"""The rows of the table: what is done, by whom, and with how much of it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.corpus import MESSAGES, SEARCHES


@dataclass(frozen=True)
class Work:
    """One kind of work.

    Attributes:
        name: for the command line.
        title: for people.
        unit: of what is measured, ``s``, ``MB``, ``KB``, ``tokens`` or ``1/s``.
        sizes: how much of it: tools, messages, sessions or pieces of text.
        size_of: what the sizes count.
        is_exact: whether each round measures the same, so that one is enough.
        row_titles: of the rows, where one size has several.
        is_of_corpus: whether it is done to the corpus of messages, whose path is given in place of the size.
        is_more_better: whether the larger figure is the better one.
        own_repetitions: how often OneClaw does it in a round; more than once where its sizes must not differ, and the
            disk would make them.
        note: what a reader must know.
    """

    name: str
    title: str
    unit: str
    sizes: tuple[int, ...]
    size_of: str
    is_exact: bool = False
    row_titles: tuple[str, ...] = ()
    is_of_corpus: bool = False
    is_more_better: bool = False
    own_repetitions: int = 1
    note: str = ""


WORKS = (
    Work(
        "turn",
        "A turn",
        "s",
        (100, 1_000, 10_000),
        "tools",
        own_repetitions=4,
        note=(
            "Three model requests: load a group, call its tool, answer. The model answers at once. OneClaw stores "
            "every message, call and result; the others store nothing. openai-agents and llm send all tools with each "
            "request, so that their turns have two requests."
        ),
    ),
    Work(
        "stored_turn",
        "A turn that is stored",
        "s",
        (100, 1_000),
        "tools",
        note=(
            "The same, by those that can store it in a SQLite file: openai-agents with a `SQLiteSession`, llm with the "
            "log that its command writes."
        ),
    ),
    Work(
        "http_turn",
        "A stored turn over HTTP",
        "s",
        (100,),
        "tools",
        note=(
            "The same three requests to a model service in another process, which answers Chat Completions as "
            "server-sent events at once. OneClaw has all its plugins. The floor is a loop with httpx and SQLite that "
            "stores each message before it goes on."
        ),
    ),
    Work(
        "resume",
        "The next turn of a long session",
        "s",
        (10, 1_000, 16_000, 100_000),
        "messages",
        note=(
            "One model request. OneClaw reads the session from its database and sends what fits the model's window; "
            "the others are given the whole history as objects in memory."
        ),
    ),
    Work(
        "register",
        "Registering tools",
        "s",
        (100, 1_000, 10_000),
        "tools",
        note="They are there as names, descriptions and schemas, and become tools that an agent has.",
    ),
    Work(
        "call",
        "A tool call",
        "s",
        (100,),
        "tools",
        note=(
            "One call of a function that gives back its argument. Checking arguments and permission, the timeout and "
            "what becomes of the result are in it where the framework has them."
        ),
    ),
    Work(
        "load_group",
        "Loading a group of 50 tools",
        "s",
        (100, 10_000),
        "tools",
        note="The tool `load_tool_group` by itself.",
    ),
    Work(
        "list_groups",
        "The list of groups",
        "s",
        (100, 10_000),
        "tools",
        note="What stands of it in the system prompt, for 2 groups and for 200.",
    ),
    Work(
        "stream",
        "Streaming",
        "s",
        (2_000,),
        "pieces, for each",
        note="An answer in pieces, from a model in the same process to the program that shows them.",
    ),
    Work(
        "sessions",
        "Sessions at once",
        "1/s",
        (1, 16, 64, 256),
        "sessions",
        is_more_better=True,
        note=(
            "Turns a second of one process, each of two requests to a model that answers after 50 ms, so that no "
            "session can have more than 10. OneClaw stores every turn; the others keep histories in memory."
        ),
    ),
    Work(
        "http_sessions",
        "Sessions at once over HTTP",
        "1/s",
        (1, 16, 64, 256, 1_000),
        "sessions",
        is_more_better=True,
        note=(
            "The same with a model service in another process, which answers Chat Completions after 50 ms as "
            "server-sent events. Both processes share the machine."
        ),
    ),
    Work(
        "idle",
        "An idle session",
        "KB",
        (200,),
        "sessions of 20 messages, each",
        note=(
            "What each adds to the memory of the process. OneClaw keeps them in the database alone; what grows here is "
            "SQLite's page cache, which has a limit."
        ),
    ),
    Work(
        "search",
        "Searching the past",
        "s",
        (MESSAGES,),
        "messages",
        row_titles=tuple(title for title, _words, _days in SEARCHES),
        is_of_corpus=True,
        note=(
            f"{MESSAGES:,} messages of 240 characters on average, in a SQLite file. The floor is SQLite's own "
            "full-text index, ranked by its `bm25()`: nothing but row numbers, no text, days or Chinese."
        ),
    ),
    Work(
        "tokens",
        "Tokens of tools in a request",
        "tokens",
        (0, 1),
        "loaded groups",
        is_exact=True,
        note=(
            "Definitions and the list of groups (o200k), with all plugins installed. With one group, that of mail is "
            "loaded. workspace-mcp has its tools for the same services sent with each request."
        ),
    ),
)
START = "start"
START_TITLE = "Starting"
START_NOTE = (
    "Whole processes as a user starts them, in turn, with the bytecode of an earlier start (`PYTHONDONTWRITEBYTECODE` "
    "is not set) and a home of their own; OneClaw with all plugins of the repository, llm with none."
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
POSTGRESQL = "oneclaw-postgresql"
CONTESTANTS = (
    "oneclaw",
    POSTGRESQL,
    "floor",
    "pydantic-ai",
    "openai-agents",
    "llm",
    "langgraph-bigtool",
    "fastmcp",
    "workspace-mcp",
)
TITLES = {"oneclaw": "OneClaw", POSTGRESQL: "OneClaw, PostgreSQL", "floor": "floor"}
