"""An audit log for OneClaw: every tool call and every decision on a permission, in a table of the plugin."""

import json
import re
from datetime import UTC, datetime

import click

from oneclaw_core import (
    CallInfo,
    CommandRegistrar,
    OneClaw,
    PermissionOutcome,
    PluginContext,
    ToolResult,
    hookimpl,
    redact,
)
from oneclaw_core.cli import json_option, print_json, print_table, run_async
from oneclaw_core.sessions import StorageConnection

COLUMNS = ("at", "session", "agent", "tool", "event", "detail", "outcome", "duration_ms")
HIDDEN_ARGUMENTS = re.compile("content|password|secret|token|key", re.IGNORECASE)


def _create(connection: StorageConnection) -> None:
    columns = "at TEXT, session TEXT, agent TEXT, tool TEXT, event TEXT, detail TEXT, outcome TEXT, duration_ms REAL"
    connection.execute(f"CREATE TABLE {connection.table('entries')} (id {connection.numbered_key}, {columns})")


@hookimpl
async def after_tool_call(context: PluginContext, call: CallInfo, result: ToolResult, duration_ms: float) -> None:
    shown = {name: "[hidden]" if HIDDEN_ARGUMENTS.search(name) else value for name, value in call.arguments.items()}
    await _add(context, call, "call", json.dumps(shown, ensure_ascii=False), result.error_type or "ok", duration_ms)


@hookimpl
async def permission_decided(context: PluginContext, call: CallInfo, decision: PermissionOutcome) -> None:
    outcome = f"{'granted' if decision.is_granted else 'denied'} by {decision.decided_by}"
    await _add(context, call, "permission", f"{decision.permission} {decision.subject or ''}".strip(), outcome, None)


async def _add(context: PluginContext, call: CallInfo, event: str, detail: str, outcome: str, ms: float | None) -> None:
    at, session = datetime.now(UTC).isoformat(timespec="seconds"), call.turn.session.id if call.turn else None
    values = (at, session, call.agent, call.tool, event, redact(detail), outcome, ms and round(ms, 1))
    await (await context.storage.tables([_create])).write(_insert, dict(zip(COLUMNS, values, strict=True)))


def _insert(connection: StorageConnection, entry: dict[str, object]) -> None:
    names, marks = ", ".join(COLUMNS), ", ".join(f":{name}" for name in COLUMNS)
    connection.execute(f"INSERT INTO {connection.table('entries')} ({names}) VALUES ({marks})", entry)


def _newest(connection: StorageConnection, limit: int) -> list[dict[str, object]]:
    select = f"SELECT {', '.join(COLUMNS)} FROM {connection.table('entries')} ORDER BY id DESC LIMIT :limit"
    return [dict(zip(COLUMNS, row, strict=True)) for row in connection.execute(select, {"limit": limit})]


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    register("audit", "acme_audit_log:audit", help="List tool calls and decisions on permissions.")


@click.command()
@click.option("--limit", default=20, help="How many entries, the newest first.")
@json_option
def audit(limit: int, as_json: bool) -> None:
    """List tool calls and decisions on permissions."""
    entries = run_async(_read(limit))
    print_json(entries) if as_json else print_table(COLUMNS, [list(entry.values()) for entry in entries])


async def _read(limit: int) -> list[dict[str, object]]:
    async with OneClaw.open() as claw:
        context = await claw.plugins.context_of("audit_log")
        return await (await context.storage.tables([_create])).read(_newest, limit)
