"""The parts that OneClaw's own plugins bring; written by release/plugin_entries.py."""

OUR_DISTRIBUTIONS = {
    "agents": "oneclaw-agents",
    "anthropic": "oneclaw-anthropic",
    "chain": "oneclaw-chain",
    "checkpoints": "oneclaw-checkpoints",
    "config": "oneclaw-config",
    "database": "oneclaw-database",
    "devtools": "oneclaw-devtools",
    "files": "oneclaw-files",
    "gemini": "oneclaw-gemini",
    "google_workspace": "oneclaw-google-workspace",
    "javascript": "oneclaw-javascript",
    "js_tool_management": "oneclaw-javascript",
    "mcp": "oneclaw-mcp",
    "memory": "oneclaw-memory",
    "notify": "oneclaw-notify",
    "offline": "oneclaw-offline",
    "openai": "oneclaw-openai",
    "pdf": "oneclaw-pdf",
    "postgres": "oneclaw-postgres",
    "scheduled_tasks": "oneclaw-scheduled-tasks",
    "search": "oneclaw-search",
    "serve": "oneclaw-serve",
    "setup": "oneclaw-setup",
    "shell": "oneclaw-shell",
    "skills": "oneclaw-skills",
    "telegram": "oneclaw-telegram",
    "terminal": "oneclaw-terminal",
    "triggers": "oneclaw-triggers",
    "web": "oneclaw-web",
}
"""OneClaw's own plugins and their distributions."""

GROUPS = {
    "agents": "agents",
    "background": "shell",
    "config": "config",
    "files": "files",
    "google_api": "google_workspace",
    "google_calendar": "google_workspace",
    "google_contacts": "google_workspace",
    "google_docs": "google_workspace",
    "google_drive": "google_workspace",
    "google_forms": "google_workspace",
    "google_gmail": "google_workspace",
    "google_gmail_settings": "google_workspace",
    "google_sheets": "google_workspace",
    "google_slides": "google_workspace",
    "google_tasks": "google_workspace",
    "js_tool_management": "js_tool_management",
    "pdf": "pdf",
    "scheduled_tasks": "scheduled_tasks",
    "search": "search",
    "session": "agents",
}
"""Tool groups of OneClaw's own plugins."""

COMMANDS = {
    "chat": "terminal",
    "completion": "setup",
    "db copy": "database",
    "db salvage": "database",
    "env": "javascript",
    "google": "google_workspace",
    "mcp": "mcp",
    "memory": "memory",
    "plugins check": "devtools",
    "plugins install": "devtools",
    "plugins new": "devtools",
    "plugins sync": "devtools",
    "plugins uninstall": "devtools",
    "plugins upgrade": "devtools",
    "profiles": "setup",
    "serve install": "serve",
    "serve link": "serve",
    "serve status": "serve",
    "serve token": "serve",
    "serve uninstall": "serve",
    "setup": "setup",
    "skills": "skills",
    "tasks": "scheduled_tasks",
    "telegram": "telegram",
    "undo": "checkpoints",
}
"""Commands of OneClaw's own plugins, by what stands behind ``oneclaw``."""

CHAT_COMMANDS = {
    "agents": "agents",
    "commands": "shell",
    "inbox": "scheduled_tasks",
    "memory": "memory",
    "redo": "checkpoints",
    "retry": "checkpoints",
    "skills": "skills",
    "tasks": "scheduled_tasks",
    "todo": "agents",
    "undo": "checkpoints",
}
"""Chat commands of OneClaw's own plugins, without the slash."""

CHANNELS = {
    "command": "notify",
    "desktop": "notify",
    "mail": "notify",
    "telegram": "telegram",
    "webhook": "notify",
}
"""Channels of OneClaw's own plugins."""

TRIGGERS = {
    "file_changed": "triggers",
    "mail_received": "triggers",
    "task_ended": "scheduled_tasks",
    "webhook": "triggers",
}
"""Triggers of OneClaw's own plugins, which start scheduled tasks."""
