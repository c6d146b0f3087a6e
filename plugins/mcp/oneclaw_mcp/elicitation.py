"""Questions of a server to the user: a form field by field, or an address to open."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core import NobodyToAskError
from oneclaw_core.process import run_in_thread
from oneclaw_core.tools import ToolDefinitionError
from oneclaw_mcp.cleaning import cleaned, cleaned_schema, foreign_faults
from oneclaw_mcp.connection import MOST_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_types import ElicitResult, ErrorData

    from oneclaw_core import ToolContext
    from oneclaw_mcp.connection import Connection

MAX_FIELDS = 20
MAX_TRIES = 3
_MESSAGE_CHARACTERS = 1_000
_NAMES_CHARACTERS = 700
_ADDRESS_CHARACTERS = 1_200
_MOST_CHOICES = 10
_ANSWER, _DECLINE = "answer", "do not answer"
_SKIP, _DEFAULT = "leave it out", "default"
_REFUSED = "Not accepted:"
_OPENED, _CANCEL = "I have opened it", "cancel"


def elicitation_of(connection: Connection) -> Callable[[Any, Any], Awaitable[ElicitResult | ErrorData]]:
    """Return what answers the questions of a server: the user of the call that is under way.

    Args:
        connection: to the server.
    """

    async def elicit(_: Any, parameters: Any) -> ElicitResult | ErrorData:
        from mcp_types import ElicitResult, ErrorData

        if not connection.calls:
            return ErrorData(code=-32600, message="no call is under way, so there is no one to ask")
        context = connection.asking_call()
        if context is None:
            return ErrorData(code=-32600, message="calls of several conversations are under way; ask in one of them")
        connection.questions[id(context)] += 1
        if connection.questions[id(context)] > MOST_QUESTIONS:
            return ErrorData(code=-32600, message=f"it has asked {MOST_QUESTIONS} times in this call; that is enough")
        set_running = connection.limits.get(id(context))
        if set_running is not None:
            set_running(False)
        try:
            action, content = await answered(connection.server.name, parameters.model_dump(by_alias=True), context)
        except NobodyToAskError:
            action, content = "cancel", None
        finally:
            if set_running is not None:
                set_running(True)
        return ElicitResult(action=action, content=content)  # type: ignore[arg-type]  # one of three words

    return elicit


async def answered(server: str, parameters: dict[str, Any], context: ToolContext) -> tuple[str, dict[str, Any] | None]:
    """Ask the user; return ``accept``, ``decline`` or ``cancel``, and the content of a form.

    Args:
        server: the name of the server that asks.
        parameters: of its request.
        context: of the call.

    Raises:
        NobodyToAskError: no person can be asked here.
    """
    message = cleaned(parameters.get("message"), _MESSAGE_CHARACTERS) or "It gives no reason."
    if parameters.get("mode") == "url":
        return await _address(server, message, str(parameters.get("url", "")), context)
    schema = parameters.get("requestedSchema")
    schema = schema if isinstance(schema, dict) else {}
    fields = schema.get("properties")
    fields = dict(list(fields.items())[:MAX_FIELDS]) if isinstance(fields, dict) else {}
    named = cleaned(", ".join(cleaned(name, 60) for name in fields), _NAMES_CHARACTERS) or "nothing but your consent"
    question = (
        f"The MCP server {server} asks (never give it a password or a key): {message}\nIt wants to know: {named}."
    )
    with suppress(NobodyToAskError, ToolDefinitionError, ValueError):  # else field by field
        content = await context.ask_form(question, cleaned_schema({**schema, "properties": fields}))
        return ("accept", content) if content is not None else ("decline", None)
    if await context.ask_user(question, (_ANSWER, _DECLINE), allows_text=False) != _ANSWER:
        return "decline", None
    required = schema.get("required")
    content = {}
    for name, field in fields.items():
        is_required = isinstance(required, list) and name in required
        is_given, value = await _field(server, name, field if isinstance(field, dict) else {}, context, is_required)
        if is_given:
            content[name] = value
        elif is_required:
            return "cancel", None
    return "accept", content


async def _address(server: str, message: str, url: str, context: ToolContext) -> tuple[str, None]:
    """Show an address with its host; nothing is opened or fetched here."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "decline", None
    is_shown_whole = url.isascii() and cleaned(url, _ADDRESS_CHARACTERS) == url
    # A name before the host, or letters that look like others, would make a person take it for another host.
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username is not None or not is_shown_whole:
        return "decline", None
    question = (
        f"The MCP server {server} wants you to open an address at the host {cleaned(parts.hostname, 100)}: "
        f"{cleaned(message, 500)}\n{url}\n"
        "Open it in a browser only if you expect this."
    )
    answer = await context.ask_user(question, (_OPENED, _CANCEL), allows_text=False)
    return ("accept" if answer == _OPENED else "decline"), None


async def _field(
    server: str, name: str, field: dict[str, Any], context: ToolContext, is_required: bool
) -> tuple[bool, Any]:
    """Ask for one field; return whether it was given, and its value."""
    choices = _choices(field)
    label = cleaned(field.get("title"), 100) or cleaned(name, 100)
    description = cleaned(field.get("description"), 300)
    default = field.get("default")
    kind = field.get("type")
    shown_kind = cleaned(kind, 20) or "text"
    lines = [f"{label} ({shown_kind}), for the MCP server {server}{': ' + description if description else ''}"]
    if default is not None:
        lines.append(f"Its default is {cleaned(json.dumps(default, ensure_ascii=False), 200)}.")
    if len(choices) > _MOST_CHOICES - 1:
        lines.append(cleaned(f"It takes: {', '.join(choices)}", 600))
    shown = [cleaned(each, 200) for each in choices] if len(choices) < _MOST_CHOICES else []
    can_skip = not is_required or default is not None
    shown = [each for each in shown if each] + ([_skip(default)] if can_skip else [])
    if kind in ("integer", "number"):  # a number would be that of a choice
        shown = []
        if can_skip:
            lines.append(f"Type a number, or: {_SKIP if default is None else _DEFAULT}")
    schema = {"type": "object", "properties": {"value": field}}
    for _ in range(MAX_TRIES):
        answer = await context.ask_user("\n".join(lines), shown)
        if answer is None:
            return False, None
        if can_skip and answer in (_skip(default), _SKIP if default is None else _DEFAULT):
            return default is not None, default
        value = _value(kind, answer, choices)
        faults = await run_in_thread(partial(_faults, schema, value))
        if not faults:
            return True, value
        lines = [each for each in lines if not each.startswith(_REFUSED)]
        lines += [cleaned(f"{_REFUSED} {' '.join(faults)}", 500)]
    return False, None


def _faults(schema: dict[str, Any], value: Any) -> list[str]:
    try:
        return foreign_faults(schema, {"value": value})
    except Exception as error:  # noqa: BLE001  # a foreign schema
        return [f"the server's schema cannot be used: {type(error).__name__}"]


def _skip(default: Any) -> str:
    return _SKIP if default is None else cleaned(f"the default, {json.dumps(default, ensure_ascii=False)}", 200)


def _choices(field: dict[str, Any]) -> dict[str, Any]:
    """Return what can be chosen, by what is shown for it."""
    if field.get("type") == "boolean":
        return {"yes": True, "no": False}
    values = field.get("enum")
    if isinstance(values, list):
        names = field.get("enumNames")
        names = names if isinstance(names, list) and len(names) == len(values) else values
        return {str(name): value for name, value in zip(names, values, strict=True)}
    options = field.get("oneOf")
    if isinstance(options, list):
        return {
            str(each.get("title") or each["const"]): each["const"]
            for each in options
            if isinstance(each, dict) and "const" in each
        }
    return {}


def _value(kind: object, answer: str, choices: dict[str, Any]) -> Any:
    """Read what a person typed by the type of the field; what does not fit is left as text."""
    if answer in choices:
        return choices[answer]
    try:
        if kind == "integer":
            return int(answer)
        if kind == "number":
            return float(answer)
    except ValueError:
        return answer
    if kind == "array":
        return [each.strip() for each in answer.split(",") if each.strip()]
    return answer
