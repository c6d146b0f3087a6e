"""Tools that the sentences of ``offline_sentences.py`` are for."""

from oneclaw_core.types.tools import ToolDefinition


def define(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return ToolDefinition(name, description, schema)


def text(description="", **more):
    return {"type": "string", "description": description, **more}


def whole(description="", **more):
    return {"type": "integer", "description": description, **more}


CORE = (
    define(
        "get_current_time",
        "Get the current date and time in a time zone.",
        timezone=text("IANA time zone such as Europe/Berlin; the computer's own by default."),
        format=text("Output format.", enum=["ISO8601", "human_readable"]),
    ),
    define(
        "read_file",
        "Read the contents of a text file.",
        ["path"],
        path=text("The file to read."),
        encoding=text("Text encoding, UTF-8 by default."),
    ),
    define(
        "write_file",
        "Write text to a file in the workspace.",
        ["path", "content"],
        path=text("The file to write."),
        content=text("The content to write."),
        mode=text("How to write.", enum=["overwrite", "append"], default="overwrite"),
    ),
    define(
        "http_request",
        "Make an HTTP request to fetch a URL, and return status, headers and body.",
        ["url"],
        url=text("The URL to request."),
        method=text("HTTP method.", enum=["GET", "POST", "PUT", "DELETE"], default="GET"),
        headers={"type": "object", "description": "HTTP headers.", "additionalProperties": {"type": "string"}},
        body=text("Request body for POST and PUT."),
    ),
    define(
        "load_tool_group",
        "Load all tools in a tool group to make them available for use. "
        "You MUST load a tool group before you can use any tools in it.",
        ["group_name"],
        group_name=text("The name of the tool group to load"),
    ),
)

LISTED = {
    "config": "Manage providers, models, agents, app settings, environment variables, and tool states",
    "pdf": "Extract text, get info, and render pages from PDF files",
    "scheduled_tasks": "Create, list, run, update, and delete scheduled tasks",
    "js_tool_management": "Create, list, update, and delete user JavaScript tools",
    "google_gmail": "Email management: search, read, send, draft, label, archive, and manage Gmail messages",
    "google_gmail_settings": "Gmail settings: manage filters, labels, forwarding, signatures, and vacation responders",
    "google_drive": "File storage: list, search, upload, download, share, and manage Google Drive files and folders",
    "google_calendar": "Calendar management: list, create, update, delete events, and manage Google Calendar",
    "google_contacts": "Contact management: search, list, create, update, and delete Google Contacts",
    "google_docs": "Document editing: create, read, update, and format Google Docs documents",
    "google_sheets": "Spreadsheet management: create, read, update cells, format, and manage Google Sheets",
    "google_slides": "Presentation management: create, update, add slides, and manage Google Slides presentations",
    "google_forms": "Form management: create forms, add questions, get responses, and manage Google Forms",
    "google_tasks": "Task management: list, create, update, complete, and delete Google Tasks",
}

PAGE_LIST = text("Pages to read, such as `1,3,5-7`; all by default.")
GROUPS = {
    "pdf": (
        define(
            "pdf_info",
            "Get information about a PDF file: number of pages, size, title, author, creation date.",
            ["path"],
            path=text("Path of the PDF file."),
            password=text("For an encrypted file."),
        ),
        define(
            "pdf_extract_text",
            "Extract the text of a PDF file, all of it or some pages.",
            ["path"],
            path=text("Path of the PDF file."),
            pages=PAGE_LIST,
            max_chars=whole("Longest text to return.", minimum=1, default=50000),
            password=text("For an encrypted file."),
        ),
        define(
            "pdf_render_page",
            "Render a page of a PDF file to a PNG image in the workspace.",
            ["path", "page"],
            path=text("Path of the PDF file."),
            page=whole("Page number, from 1.", minimum=1),
            dpi=whole("Resolution.", minimum=72, maximum=300, default=150),
            password=text("For an encrypted file."),
        ),
    ),
    "google_gmail": (
        define("gmail_search", "Search Gmail messages", query=text("Gmail search.", default=""), max_results=whole()),
        define("gmail_read", "Read a Gmail message", ["message_id"], message_id=text("The message.")),
        define("gmail_send", "Send an email", ["body"], to=text("Recipient addresses."), body=text("Message body.")),
        define("gmail_trash", "Move messages to the trash", ["message_ids"], message_ids={"type": "array"}),
    ),
    "google_sheets": (
        define(
            "sheets_create",
            "Create a spreadsheet, with named tabs and first rows if wanted.",
            ["title"],
            title=text("Title."),
            locale=text("E.g. en_US, de."),
        ),
        define(
            "sheets_update_values",
            "Write values or formulas into one range; overwrites what is there.",
            ["spreadsheet_id", "range", "values"],
            spreadsheet_id=text("Spreadsheet id or link."),
            range=text("A1 range."),
            values={"type": "array", "items": {"type": "array"}},
        ),
    ),
    "scheduled_tasks": (
        define(
            "schedule_task",
            "Schedule a task to run later, once or repeatedly.",
            ["name", "prompt", "schedule_type", "hour", "minute"],
            name=text("Short name of the task."),
            prompt=text("What the agent is to do."),
            schedule_type=text("How often.", enum=["one_time", "daily", "weekly"]),
            hour=whole("Hour of the day.", minimum=0, maximum=23),
            minute=whole("Minute of the hour.", minimum=0, maximum=59),
        ),
        define("list_scheduled_tasks", "List all scheduled tasks."),
        define("delete_scheduled_task", "Delete a scheduled task.", ["task_id"], task_id=text("The task's id.")),
    ),
    "config": (
        define("list_providers", "List all configured providers."),
        define(
            "create_provider",
            "Create a new provider.",
            ["name", "type", "api_base_url"],
            name=text("Display name of the provider."),
            type=text("Protocol.", enum=["OPENAI", "ANTHROPIC", "GEMINI"]),
            api_base_url=text("Base URL of the API."),
        ),
        define("delete_provider", "Delete a provider.", ["provider_id"], provider_id=text("The provider's id.")),
        define(
            "add_model",
            "Add a model to a provider by hand.",
            ["provider_id", "model_id"],
            provider_id=text(),
            model_id=text(),
        ),
        define("set_tool_enabled", "Enable or disable a tool.", ["name"], name=text(), enabled={"type": "boolean"}),
    ),
    "js_tool_management": (
        define("list_user_tools", "List all user JavaScript tools."),
        define(
            "create_js_tool",
            "Create a JavaScript tool.",
            ["name", "description", "js_code"],
            name=text("Name of the tool in snake_case."),
            description=text("What the tool does."),
            js_code=text("JavaScript source."),
        ),
        define("delete_js_tool", "Delete a JavaScript tool.", ["name"], name=text("Name of the tool.")),
    ),
}  # fmt: skip


MORE_CORE = (
    *CORE,
    define(
        "exec",
        "Execute a shell command and return its output.",
        ["command"],
        command=text("The command."),
        timeout_seconds=whole("Seconds to wait.", minimum=1, maximum=120),
        working_directory=text("Directory to run in."),
    ),
    define("js_eval", "Evaluate JavaScript code.", ["code"], code=text("The code.")),
    define("save_memory", "Save information to memory.", ["content"], content=text("What to remember.")),
    define(
        "search_history",
        "Search past conversations and memory.",
        ["query"],
        query=text("What to look for."),
        date_from=text("First day, YYYY-MM-DD."),
        max_results=whole("Most results."),
    ),
    define(
        "browser",
        "Open a web page in a browser and take a screenshot.",
        ["url"],
        url=text("The page."),
        full_page={"type": "boolean", "description": "All of the page."},
    ),
    define(
        "create_agent",
        "Create a new agent.",
        ["name", "system_prompt"],
        name=text("Name."),
        system_prompt=text("Instructions."),
    ),
)


DICE = (
    define(
        "roll_dice",
        "Roll dice and tell what they show.",
        ["count"],
        count=whole("How many dice"),
        sides=whole("Sides of each die", default=6),
    ),
    define("roll_dice", "Roll dice.", count=whole(default=1), sides=whole(default=6)),
    define("roll_dice", "Roll dice.", count=whole("How many dice"), sides=whole("Sides of the dice")),
)


NUMBERS = (
    define(
        "csv_rows",
        "Show rows of a CSV file.",
        ["path"],
        path=text(),
        row_count=whole("Number of rows to show."),
        first_line=whole("Line to start at."),
    ),
    define(
        "resize_image",
        "Resize an image.",
        ["path", "width", "height"],
        path=text(),
        width=whole("Width in pixels."),
        height=whole("Height in pixels."),
    ),
    define("set_volume", "Set the volume.", ["level"], level=whole("From 0 to 100.")),
    define(
        "set_lamp", "Switch the lamp.", colour=text(), brightness=whole("Percent."), delay=whole("Seconds to wait.")
    ),
    define("set_alarm", "Set an alarm.", hour=whole("Hour of the day."), minute=whole("Minute of the hour.")),
)


TABLES = (
    define(
        "table_info",
        "Get the columns of a table in a CSV file, and its number of rows.",
        ["path"],
        path=text("Path of the CSV file."),
    ),
    define(
        "column_total",
        "Add up a column of sales or other numbers in a CSV file.",
        ["path", "column"],
        path=text("Path of the CSV file."),
        column=text("Name of the column."),
    ),
)

ECHO = define("echo", "Echo a text.", ["content"], content=text("The text."))
WEB_SEARCH = define("web_search", "Search the web.", ["query"], query=text("What to look for."))
LANGUAGES = (
    define("wetter", "Wettervorhersage: das Wetter der nächsten Tage."),
    define("kalender", "Termine und Kalender ansehen."),
    define("tianqi", "查询天气预报"),
    define("duqu", "读取文件的内容", ["path"], path=text("文件路径")),
    define("pochta", "Показать почта и письма"),
    define("taqs", "معرفة حالة الطقس"),
    define("mausam", "मौसम की जानकारी"),
)
SKILLS = (
    define("load_skill", "Load a skill: instructions for a kind of task.", ["name"], name=text("A skill's name.")),
)
PARCELS = (
    define(
        "parcels_price",
        "Tell what it costs to ship a parcel, in euros. Not for letters.",
        ["grams"],
        grams=whole("What the parcel weighs."),
        country=text("Where it goes, as two letters."),
    ),
    define("parcels_check_number", "Check the number of a parcel.", ["number"], number=text("The number.")),
)
