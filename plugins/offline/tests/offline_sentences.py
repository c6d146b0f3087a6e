"""Sentences for ``offline/rules``, each with the groups that it loads, the tool that it calls and the arguments."""

from typing import Any, NamedTuple

from offline_tools import (
    CORE,
    DICE,
    ECHO,
    LANGUAGES,
    LISTED,
    MORE_CORE,
    NUMBERS,
    PARCELS,
    SKILLS,
    TABLES,
    WEB_SEARCH,
)

from oneclaw_core.types.tools import ToolDefinition


class Sentence(NamedTuple):
    """A sentence with what happens to it.

    Attributes:
        text: of the user.
        tool: the tool that it calls or asks a value for, empty if it only loads, None if none fits.
        arguments: of each call; empty if the tool asks for a value.
        groups: the groups that it loads, in order.
        core: the core tools.
        listed: the groups with their descriptions.
    """

    text: str
    tool: str | None
    arguments: tuple[dict[str, Any], ...] = ()
    groups: tuple[str, ...] = ()
    core: tuple[ToolDefinition, ...] = CORE
    listed: dict[str, str] = LISTED


def of_core(text: str, tool: str | None, *arguments: dict[str, Any]) -> Sentence:
    return Sentence(text, tool, arguments)


def of_more(text: str, tool: str | None, *arguments: dict[str, Any]) -> Sentence:
    return Sentence(text, tool, arguments, core=MORE_CORE)


def of_group(group: str, text: str, tool: str, *arguments: dict[str, Any]) -> Sentence:
    return Sentence(text, tool, arguments, (group,))


def of_tools(core: tuple[ToolDefinition, ...], text: str, tool: str | None, *arguments: dict[str, Any]) -> Sentence:
    return Sentence(text, tool, arguments, core=core, listed={})


# The dialogues of FEAT-040, "Typical Scenarios".
SCENARIOS = (
    of_group("google_gmail", "Check my email", "gmail_search", {}),
    of_group("google_sheets", "Create a spreadsheet with quarterly data", "sheets_create", {"title": "quarterly data"}),
    of_core("What time is it?", "get_current_time", {}),
    of_group("scheduled_tasks", "Schedule a task for tomorrow", "schedule_task"),
    of_group("pdf", "Load the PDF tools", ""),
    of_group("config", "Add a new OpenAI provider", "create_provider"),
    of_group("js_tool_management", "Help me write a JS tool", "create_js_tool"),
)

CORE_SENTENCES = (
    of_core("what's the time", "get_current_time", {}),
    of_core("What is the current time now?", "get_current_time", {}),
    of_core("What time is it in Europe/Berlin?", "get_current_time", {"timezone": "Europe/Berlin"}),
    of_core("What time is it in New York?", "get_current_time", {"timezone": "America/New_York"}),
    of_core("What time is it in Tokyo?", "get_current_time", {"timezone": "Asia/Tokyo"}),
    of_core("what time is it in Kyoto?", "get_current_time", {}),
    of_core("Read notes.txt", "read_file", {"path": "notes.txt"}),
    of_core("What is in docs/notes.txt?", "read_file", {"path": "docs/notes.txt"}),
    of_core("Please read the file 'my notes.txt'", "read_file", {"path": "my notes.txt"}),
    of_core("Read notes.txt, encoding: latin-1", "read_file", {"path": "notes.txt", "encoding": "latin-1"}),
    of_core("What does a.txt say about tea?", "read_file", {"path": "a.txt"}),
    of_core("How many rows does a.txt have?", "read_file", {"path": "a.txt"}),
    of_core("Summarize report.txt", "read_file", {"path": "report.txt"}),
    of_core("Read my notes file", "read_file"),
    of_core("Write 'hello world' to notes.txt", "write_file", {"path": "notes.txt", "content": "hello world"}),
    of_core("Write hello world to notes.txt", "write_file", {"path": "notes.txt", "content": "hello world"}),
    of_core("Write “don't panic” to notes.txt", "write_file", {"path": "notes.txt", "content": "don't panic"}),
    of_core(
        "Append 'one more' to notes.txt", "write_file", {"path": "notes.txt", "content": "one more", "mode": "append"}
    ),
    of_core("create a file notes.txt that says hello", "write_file", {"path": "notes.txt", "content": "says hello"}),
    of_core("Fetch https://example.com/price.json", "http_request", {"url": "https://example.com/price.json"}),
    of_core(
        "Send a POST request to https://example.com/a?b=c.",
        "http_request",
        {"url": "https://example.com/a?b=c", "method": "POST"},
    ),
    of_core("Fetch the latest Bitcoin price", "http_request"),
    of_core("Tell me a joke", None),
    of_core("What is the capital of France?", None),
    of_core("hello", None),
    of_core("", None),
    of_core("???", None),
    of_core("Why?", None),
)

GROUP_SENTENCES = (
    of_group("google_gmail", "Check my latest emails", "gmail_search", {}),
    of_group("google_gmail", "check my e-mail please", "gmail_search", {}),
    of_group("google_gmail", "Show my 5 latest emails", "gmail_search", {"max_results": 5}),
    of_group("google_gmail", "Search my 2024 emails", "gmail_search", {}),
    of_group("google_gmail", "What emails did I send?", "gmail_search", {}),
    of_group("google_gmail", "Who sent me messages?", "gmail_search", {}),
    of_group("google_gmail", "Send an email to ana@example.org", "gmail_send"),
    of_group("scheduled_tasks", "Schedule a daily task at hour 7", "schedule_task"),
    of_group("scheduled_tasks", "List my scheduled tasks", "list_scheduled_tasks", {}),
    of_group(
        "pdf",
        "How many pages does examples/quarterly-report.pdf have?",
        "pdf_info",
        {"path": "examples/quarterly-report.pdf"},
    ),
    of_group("pdf", "How many pages do a.pdf and b.pdf have?", "pdf_info", {"path": "a.pdf"}, {"path": "b.pdf"}),
    of_group("pdf", "Who is the author of X.pdf?", "pdf_info", {"path": "X.pdf"}),
    of_group("pdf", "What does page 2 of X.pdf say?", "pdf_extract_text", {"path": "X.pdf", "pages": "2"}),
    of_group("pdf", "Read pages 1, 3 and 5 to 7 of X.pdf", "pdf_extract_text", {"path": "X.pdf", "pages": "1,3,5-7"}),
    of_group("pdf", "Summarize report.pdf", "pdf_extract_text", {"path": "report.pdf"}),
    of_group("pdf", "Extract the text of 'my report.pdf'", "pdf_extract_text", {"path": "my report.pdf"}),
    of_group("pdf", "Render page 3 of X.pdf as an image", "pdf_render_page", {"path": "X.pdf", "page": 3}),
    of_group("pdf", "Render page 3 of X.pdf at 300 dpi", "pdf_render_page", {"path": "X.pdf", "page": 3, "dpi": 300}),
    of_group("pdf", "Show me page 3 of X.pdf as an image", "pdf_render_page", {"path": "X.pdf", "page": 3}),
    of_group("pdf", "Render the first page of X.pdf", "pdf_render_page", {"path": "X.pdf", "page": 1}),
    of_group("pdf", "Render page 3 of X.pdf at 9000 dpi", "pdf_render_page", {"path": "X.pdf", "page": 3}),
)

MORE_SENTENCES = (
    of_more("Run ls -la", "exec", {"command": "ls -la"}),
    of_more("Run: df -h /tmp", "exec", {"command": "df -h /tmp"}),
    of_more("Run the command ls -la", "exec", {"command": "ls -la"}),
    of_more("Run the command echo a | tr a b", "exec", {"command": "echo a | tr a b"}),
    of_more("Run the command seq 1 20000", "exec", {"command": "seq 1 20000"}),
    of_more("Run the shell command: echo hello | wc -c", "exec", {"command": "echo hello | wc -c"}),
    of_more('Can you run the command grep "two words" notes.txt?', "exec", {"command": 'grep "two words" notes.txt'}),
    of_more("Please execute git log -n 3 in the terminal", "exec", {"command": "git log -n 3"}),
    of_more("Run the command `git status` in /tmp", "exec", {"command": "git status"}),
    of_more("Execute `make all` within 10 seconds", "exec", {"command": "make all", "timeout_seconds": 10}),
    of_more("Evaluate JavaScript 2+2", "js_eval", {"code": "2+2"}),
    of_more("evaluate in JavaScript: [3, 1, 2].sort()", "js_eval", {"code": "[3, 1, 2].sort()"}),
    of_more("Calculate 6*7 with JavaScript", "js_eval", {"code": "6*7"}),
    of_more("please evaluate [3,1,2].sort() in js.", "js_eval", {"code": "[3,1,2].sort()"}),
    of_more("Evaluate `6*7` in JavaScript", "js_eval", {"code": "6*7"}),
    of_more(
        "Run this JavaScript:\n```js\nconst a = 2;\na * 4\n```\nThanks", "js_eval", {"code": "const a = 2;\na * 4"}
    ),
    of_more("Remember that I like tea", "save_memory", {"content": "I like tea"}),
    of_more("remember that I like green tea", "save_memory", {"content": "I like green tea"}),
    of_more("Search my history for pasta recipes", "search_history", {"query": "pasta recipes"}),
    of_more(
        'Search conversations about "tax" since 2025-01-02, 5 results',
        "search_history",
        {"query": "tax", "date_from": "2025-01-02", "max_results": 5},
    ),
    of_more("What did I say about tea?", "search_history", {"query": "tea"}),
    of_more("what did you tell me about the garden in May", "search_history", {"query": "the garden in May"}),
    of_more("When did we decide on the colour?", "search_history", {"query": "the colour"}),
    of_more("Have we ever talked about my sister's cat?", "search_history", {"query": "my sister's cat"}),
    of_more("Did I mention anything about Kyoto", "search_history", {"query": "Kyoto"}),
    of_more("what do you remember about me?", "search_history", {"query": "me"}),
    of_more("Find what we discussed regarding taxes.", "search_history", {"query": "taxes"}),
    of_more(
        "Take a full page screenshot of https://example.com",
        "browser",
        {"url": "https://example.com", "full_page": True},
    ),
    of_more(
        "Create an agent called Bob with the system prompt 'Be kind'",
        "create_agent",
        {"name": "Bob", "system_prompt": "Be kind"},
    ),
    of_more("Create an agent called Bob", "create_agent"),
    of_more("create an agent", "create_agent"),
    of_more(
        "create an agent named Poet that writes poems",
        "create_agent",
        {"name": "Poet", "system_prompt": "writes poems"},
    ),
    of_more(
        'Make a new agent named "Code Reviewer" who reviews Python code for bugs.',
        "create_agent",
        {"name": "Code Reviewer", "system_prompt": "reviews Python code for bugs"},
    ),
    of_more(
        'create an agent named Poet with instructions "Write poems."',
        "create_agent",
        {"name": "Poet", "system_prompt": "Write poems."},
    ),
    of_more(
        "Create an agent called Helper, system prompt: You help people.",
        "create_agent",
        {"name": "Helper", "system_prompt": "You help people."},
    ),
)

REMINDERS = tuple(
    of_group("scheduled_tasks", text, "schedule_task", *arguments)
    for text, *arguments in (
        (
            "Remind me every day at 9 to drink water",
            {"name": "Drink water", "prompt": "drink water", "schedule_type": "daily", "hour": 9, "minute": 0},
        ),
        ("Please remind me to drink water every morning at 9:30.",),
        (
            "Every day at 9, remind me to drink water",
            {"name": "Drink water", "prompt": "drink water", "schedule_type": "daily", "hour": 9, "minute": 0},
        ),
        (
            "remind me daily at 5 pm about the plants",
            {"name": "Plants", "prompt": "plants", "schedule_type": "daily", "hour": 17, "minute": 0},
        ),
        (
            "Remind me every day at 12 am to sleep",
            {"name": "Sleep", "prompt": "sleep", "schedule_type": "daily", "hour": 0, "minute": 0},
        ),
        ("Remind me every Monday at 18:15 to call mum",),
        ("Schedule a task for tomorrow at 8 to check the mail",),
        ("Set up a reminder today at 22:00: lock the door",),
        ("Remind me on 2027-03-01 at 7 to pay",),
        ("Remind me every day at 25 to stretch",),
    )
)

DICE_SENTENCES = tuple(
    Sentence(text, "roll_dice", (arguments,), core=(*CORE, tool))
    for tool in DICE
    for text, arguments in (
        ("Roll 3 dice with 20 sides", {"count": 3, "sides": 20}),
        ("Roll 3 dice", {"count": 3}),
        ("Roll three dice", {"count": 3}),
        ("Roll 3 big red dice, sides: 12", {"count": 3, "sides": 12}),
        ("Roll 20 sides 3 dice", {"count": 3, "sides": 20}),
        ("Roll two 20-sided dice", {"count": 2, "sides": 20}),
        ("Roll 3 20-sided dice", {"count": 3, "sides": 20}),
    )
)

NUMBER_SENTENCES = (
    of_tools(
        NUMBERS,
        "Show 10 rows of a.csv starting at line 30",
        "csv_rows",
        {"path": "a.csv", "row_count": 10, "first_line": 30},
    ),
    of_tools(
        NUMBERS, "Resize a.png to 300 by 200 pixels", "resize_image", {"path": "a.png", "width": 300, "height": 200}
    ),
    of_tools(
        NUMBERS, "Resize a.png: height 200, width 300", "resize_image", {"path": "a.png", "width": 300, "height": 200}
    ),
    of_tools(NUMBERS, "Set the volume to 40", "set_volume", {"level": 40}),
    of_tools(NUMBERS, "Switch the lamp to 40 percent", "set_lamp", {"brightness": 40}),
    of_tools(NUMBERS, "Switch the lamp, as percent of all its light, to 40", "set_lamp", {"brightness": 40}),
    of_tools(NUMBERS, "Switch the lamp to 40 percent in 5 seconds", "set_lamp", {"brightness": 40, "delay": 5}),
    of_tools(NUMBERS, "Switch the lamp as in 2024", "set_lamp", {}),
    of_tools(NUMBERS, "Set an alarm for hour 7 minute 30", "set_alarm", {"hour": 7, "minute": 30}),
)

OTHER_SENTENCES = (
    of_tools((*CORE, *TABLES), "Which columns does sales.csv have?", "table_info", {"path": "sales.csv"}),
    of_tools((*CORE, *TABLES), "Show me the columns of sales.csv", "table_info", {"path": "sales.csv"}),
    of_tools((*CORE, *TABLES), "How many rows does sales.csv have?", "table_info", {"path": "sales.csv"}),
    of_tools(
        (*CORE, *TABLES),
        'What is the total of column "units" in sales.csv?',
        "column_total",
        {"path": "sales.csv", "column": "units"},
    ),
    of_tools((*CORE, TABLES[1]), "Which columns does sales.csv have?", "column_total"),
    of_tools((*CORE, TABLES[1]), "Add up a column of sales.csv", "column_total"),
    of_tools((ECHO,), "Echo hello", "echo", {"content": "hello"}),
    of_tools((ECHO,), "Can you echo good morning?", "echo", {"content": "good morning"}),
    of_tools((ECHO,), "Echo this: what is it?", "echo", {"content": "what is it?"}),
    of_tools((ECHO,), "Echo 'it'", "echo", {"content": "it"}),
    of_tools((ECHO,), "Echo it", "echo"),
    of_tools((ECHO,), "Please echo the text", "echo"),
    of_tools((ECHO,), "What is an echo?", "echo"),
    of_tools((WEB_SEARCH,), "What does the web say about tea?", "web_search", {"query": "tea"}),
    of_tools(SKILLS, "load the skill pdf", "load_skill", {"name": "pdf"}),
    of_tools(SKILLS, "Load the skill about-oneclaw", "load_skill", {"name": "about-oneclaw"}),
    of_tools(SKILLS, "please use my weekly-report skill now", "load_skill"),
    of_tools(SKILLS, "Follow the skill `weekly-report`.", "load_skill", {"name": "weekly-report"}),
    of_tools((*CORE, *PARCELS), "What does a parcel of 2300 grams cost?", "parcels_price", {"grams": 2300}),
    of_tools(
        (*CORE, *PARCELS),
        'Check the parcel number "RR473124829GB"',
        "parcels_check_number",
        {"number": "RR473124829GB"},
    ),
)

LANGUAGE_SENTENCES = (
    of_tools(LANGUAGES, "Welches Wetter gibt es morgen in Köln?", "wetter", {}),
    of_tools(LANGUAGES, "Zeige mir meine Kalendereinträge", "kalender", {}),
    of_tools(LANGUAGES, "明天的天气怎么样？", "tianqi", {}),  # noqa: RUF001  # the question mark of the language
    of_tools(LANGUAGES, "读取「报告.txt」", "duqu", {"path": "报告.txt"}),
    of_tools(LANGUAGES, "读取notes.txt文件", "duqu", {"path": "notes.txt"}),
    of_tools(LANGUAGES, "Проверь мою почту", "pochta", {}),
    of_tools(LANGUAGES, "ما هو الطقس غدا؟", "taqs", {}),
    of_tools(LANGUAGES, "आज का मौसम कैसा है?", "mausam", {}),
)

SENTENCES = (
    *SCENARIOS,
    *CORE_SENTENCES,
    *GROUP_SENTENCES,
    *MORE_SENTENCES,
    *REMINDERS,
    *DICE_SENTENCES,
    *NUMBER_SENTENCES,
    *OTHER_SENTENCES,
    *LANGUAGE_SENTENCES,
)
