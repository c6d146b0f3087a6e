"""The rows of the tables: what is done, by whom, and with how much of it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.results import SUBJECT
from benchmarks.tool_set import PIECES


@dataclass(frozen=True)
class Measure:
    """One figure that a work measures.

    Attributes:
        title: of its rows; empty for the only one, or the main one of several.
        unit: ``s``, ``MB``, ``tokens`` or ``1/s``.
        is_more_better: True if the larger figure is the better one.
        is_best: True if the best of the rounds counts, and not their median.
    """

    title: str = ""
    unit: str = "s"
    is_more_better: bool = False
    is_best: bool = False


@dataclass(frozen=True)
class Work:
    """One kind of work.

    Attributes:
        name: for the command line.
        title: for people.
        sizes: how much of it: tools, messages, sessions or pieces of text.
        size_of: what the sizes count; empty if the rows are named after the measures alone.
        measures: what is measured.
        peers_up_to: the largest size that contestants beside OneClaw do; ``None`` for all sizes.
        is_exact: True if each round measures the same, so that one is enough.
        own_repetitions: how often OneClaw does it in a round; more than once where its sizes must not differ, and the
            disk would make them.
        note: what a reader must know.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    size_of: str
    measures: tuple[Measure, ...] = (Measure(),)
    peers_up_to: int | None = None
    is_exact: bool = False
    own_repetitions: int = 1
    note: str = ""


PROCESSOR_TIME = "time of processors for a turn"
TOOL_TOKENS = "tokens of tools"
CALL_TOOL = "by a program, through `call_tool`"
LISTING = "`tools list`"
IMPORTING = "importing the framework"
COMMAND = "`exec`"
JAVASCRIPT = "`js_eval`"
ISOLATED = "`pdf_info`"
MCP_CALL = "mcp_call"
FIRST_RESULT = "until the first result of a tool"
ALL_MEMORY = "memory of all processes"
OPENING = "opening a home, time of a processor"
OVER_STDIO = "standard input and output"
OVER_HTTP = "HTTP"
ABOVE_SDK = "above the bare SDK"
ONE_CALL = "a call of a tool"
CHANNEL_PLUGINS = ("notify", "serve", "telegram", "triggers")

SERVICES = ("OpenAI Responses", "Anthropic Messages", "Gemini", "Chat Completions")
UNCACHED = "all tools always sent, without a cache"
CACHED = "all tools always sent"
LOADED = "groups loaded on demand"
DISPATCHED = "groups behind a dispatcher"
CONVERSATION = "the conversation alone"
_SESSIONS = tuple(
    f"{service}, {how}"
    for service in SERVICES
    for how in (UNCACHED, CACHED, LOADED, *([DISPATCHED] if service in SERVICES[2:] else []), CONVERSATION)
)

START = Work(
    "start",
    "Starting",
    (1,),
    "",
    measures=(
        Measure(LISTING),
        Measure(f"{LISTING}, the fastest", is_best=True),
        Measure(f"{LISTING}, time of processors"),
        Measure(IMPORTING),
    ),
    note=(
        "Whole processes, as a user starts them, in turn. Python's bytecode and the home exist from an "
        "earlier start (`PYTHONDONTWRITEBYTECODE` is not set). OneClaw has all plugins of the repository, llm "
        "has none. Importing means importing the class that a program begins with, such as `from oneclaw_core "
        "import OneClaw` and `from agno.agent import Agent`: importing only the package would defer the work."
    ),
)
WORKS = (
    START,
    Work(
        "run",
        "One run of a whole program",
        (1,),
        "",
        measures=(
            Measure("the whole process"),
            Measure("time of processors"),
            Measure("the most memory", "MB"),
            Measure(TOOL_TOKENS, "tokens"),
            Measure("tokens of the system prompt", "tokens"),
        ),
        note=(
            "`oneclaw run`, `llm`, `hermes -z` and `nanobot agent -m` send the same message to a local model "
            "service that answers at once. Each has run in its home before. Each offers the model its default "
            "tools (llm has none). Tokens are counted with o200k."
        ),
    ),
    Work(
        "turn",
        "A turn",
        (100, 1_000, 10_000),
        "tools",
        peers_up_to=1_000,
        own_repetitions=2,
        note=(
            "Three model requests: load a group, call its tool, answer. The model answers at once, in the same "
            "process. OneClaw stores every message, call and result; the others store nothing. openai-agents, "
            "agno and llm send all tools with each request, so their turns have two requests."
        ),
    ),
    Work(
        "http_turn",
        "A stored turn over HTTP",
        (100,),
        "tools",
        note=(
            "The same requests, sent to a model service in another process, which answers at once with Chat "
            "Completions as server-sent events. Every turn is stored in a SQLite file. OneClaw has all its "
            "plugins. The floor is a loop of three requests, as long as OneClaw's, with httpx and sqlite3 that stores "
            "each message before it goes on. openai-agents uses a `SQLiteSession` and agno an `AsyncSqliteDb`, both "
            "with two requests."
        ),
    ),
    Work(
        "http_stream",
        "Streaming over HTTP",
        (PIECES,),
        "pieces, for each",
        note=(
            "An answer in pieces, each of which is an event of the model service. The time is from the connection "
            "to the events of the turn."
        ),
    ),
    Work(
        "http_sessions",
        "Sessions at once over HTTP",
        (1, 16, 64, 256, 1_000),
        "sessions",
        measures=(Measure(unit="1/s", is_more_better=True), Measure(PROCESSOR_TIME)),
        note=(
            "Turns a second of one process. Each turn has two requests to a model service in another process, "
            "which answers after 50 ms, so one session can have at most 10 turns a second. Both processes share "
            "the machine. Each turn must succeed. OneClaw stores every turn; the others keep histories in memory. "
            "The time of processors counts only the process of the contestant."
        ),
    ),
    Work(
        "resume",
        "The next turn of a long session",
        (10, 10_000, 100_000),
        "messages",
        peers_up_to=10_000,
        note=(
            "One model request. OneClaw reads the session from its database, and sends what fits into the window "
            "of the model. The others get the whole history as objects in memory."
        ),
    ),
    Work(
        "register",
        "Registering tools",
        (1_000, 10_000),
        "tools",
        peers_up_to=1_000,
        note=("The tools exist as names, descriptions and schemas, and become tools of an agent."),
    ),
    Work(
        "call",
        "A tool call",
        (100,),
        "tools",
        measures=(Measure(), Measure(CALL_TOOL)),
        note=(
            "One call of a function that returns its argument. It includes checking arguments and permission, the "
            "timeout and processing the result, if the framework does these. A call by a program first reads the "
            "user's permissions from the database; in a turn, they are read together with the calls."
        ),
    ),
    Work(
        "processes",
        "Tools in separate processes",
        (1,),
        "",
        measures=(
            Measure(COMMAND),
            Measure(JAVASCRIPT),
            Measure(ISOLATED),
            Measure(f"{COMMAND}, the first call"),
            Measure(f"{JAVASCRIPT}, the first call"),
            Measure(f"{ISOLATED}, the first call"),
        ),
        note=(
            "A call through the executor: the command `true`, the program `6*7`, and a tool that opens a PDF file "
            "of one page. Each call has a new process. The floor is only the shell, or the engine or library in "
            "the calling process."
        ),
    ),
    Work(
        "tokens",
        "Tokens of tools in a request",
        (0, 1),
        "loaded groups",
        measures=(Measure(unit="tokens"),),
        is_exact=True,
        note=(
            "Definitions and the list of groups (o200k), with all plugins installed. The loaded group is that of "
            "mail. workspace-mcp sends its tools for the same services with each request."
        ),
    ),
    Work(
        "session_tokens",
        "Tokens billed for a session of ten turns",
        (1,),
        "",
        measures=tuple(Measure(title, "tokens") for title in _SESSIONS),
        is_exact=True,
        note=(
            "The tools of all plugins. Three groups are loaded: mail, calendar and tasks. The figure is the "
            "number of input tokens that would cost as much at the plain rate. It includes what the services' "
            "prompt caches read and write, at their rates, and is computed from the real requests. [What tools "
            "cost in tokens](tokens.md#measured) shows all ways of loading, and fewer groups."
        ),
    ),
    Work(
        "channels",
        "Starting with channels and services",
        (0, len(CHANNEL_PLUGINS)),
        "plugins of channels and services",
        measures=(Measure(OPENING, is_best=True),),
        own_repetitions=2,
        note=(
            "Telegram, mail and other ways to notify, the web page and triggers are configured and not used, or their "
            "plugins are disabled. Opening is that of a home, with a first request, in a process that has done it "
            "before."
        ),
    ),
)
MCP_WORKS = (
    Work(
        "mcp_start",
        "Starting with MCP servers",
        (0, 1, 10, 100),
        "servers",
        measures=(
            Measure(),
            Measure(OPENING, is_best=True),
            Measure(FIRST_RESULT),
            Measure(TOOL_TOKENS, "tokens"),
            Measure(ALL_MEMORY, "MB"),
        ),
        own_repetitions=2,
        note=(
            "The configured servers are programs that speak MCP on standard input and output, each with 50 tools. "
            "A process imports its framework and sends one message to a model that answers at once in the same "
            "process. The time is until the first request to the model, and until the first result of a tool of "
            "the first server. OneClaw knows the servers from `oneclaw mcp import` and `check`, and runs them in "
            "its sandbox, if the machine has one. pydantic-ai has a capability with `defer_loading` for each "
            "server. FastMCP is one client of all servers. The floor is a client of the SDK for each server, side "
            "by side. For these two, the time is until all tools are listed, when the first request could be "
            "made. Opening means opening a home with a first request, in a process that has done it before. "
            "Tokens are those of definitions and lists of groups (o200k); for OneClaw, in the request that "
            "`oneclaw run` sends over HTTP. Memory is that of all processes at the end, including the servers."
        ),
    ),
    Work(
        MCP_CALL,
        "A call of a tool of a started MCP server",
        (1,),
        "",
        measures=(
            Measure(OVER_STDIO),
            Measure(OVER_HTTP),
            Measure(f"{OVER_STDIO}, {ABOVE_SDK}"),
            Measure(f"{OVER_HTTP}, {ABOVE_SDK}"),
            Measure(f"{OVER_STDIO}, {ABOVE_SDK}, time of a processor"),
            Measure(f"{OVER_HTTP}, {ABOVE_SDK}, time of a processor"),
        ),
        note=(
            "The same servers, which answer at once. The floor is the client of the SDK, without checks of "
            "arguments or permissions. For the rows above the bare SDK, OneClaw and the SDK's client call in turn "
            "in one process, and the medians are subtracted."
        ),
    ),
    Work(
        "mcp_gateway",
        "All MCP servers behind one",
        (1, 10, 100),
        "servers",
        measures=(
            Measure(),
            Measure(TOOL_TOKENS, "tokens"),
            Measure(ONE_CALL),
            Measure(ALL_MEMORY, "MB"),
        ),
        note=(
            "A client of the SDK has one server, which gives access to all others: `oneclaw mcp serve`, or "
            "FastMCP's proxy with `BM25SearchTransform`. The floor is that client with all servers itself, side "
            "by side. The time is until the tools are listed. Tokens are those of the listed tools and the "
            "instructions, as a client sends them to its model. Then the first tool of the first server is "
            "called. Memory is as above."
        ),
    ),
)
WORKS += MCP_WORKS
COMMANDS = {
    "oneclaw": ("oneclaw", "tools", "list"),
    "llm": ("llm", "tools", "list"),
}
IMPORTS = {
    "floor": "pass",
    "oneclaw": "from oneclaw_core import OneClaw",
    "pydantic-ai": "from pydantic_ai import Agent",
    "openai-agents": "from agents import Agent, Runner",
    "agno": "from agno.agent import Agent; from agno.models.openai import OpenAIChat",
    "llm": "import llm; llm.Conversation",
    "langgraph-bigtool": "from langgraph_bigtool import create_agent",
}
POSTGRESQL = "oneclaw-postgresql"
FLOOR = "floor"
CONTESTANTS = (
    SUBJECT,
    POSTGRESQL,
    FLOOR,
    "pydantic-ai",
    "openai-agents",
    "agno",
    "llm",
    "langgraph-bigtool",
    "fastmcp",
    "workspace-mcp",
    "hermes-agent",
    "nanobot-ai",
)
TITLES = {SUBJECT: "OneClaw", POSTGRESQL: "OneClaw, PostgreSQL", FLOOR: "floor"}
