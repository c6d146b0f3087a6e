"""Tasks as a model reads them; pure, without any I/O."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What a row is made of.
TASK_FIELDS = "id,title,notes,due,status,completed,parent,position,webViewLink"


def row(task: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a task.

    Args:
        task: as Google answers it.
    """
    return compact(
        {
            "id": task.get("id"),
            "title": task.get("title"),
            "notes": task.get("notes"),
            "due": (task.get("due") or "")[:10],
            "status": "completed" if task.get("status") == "completed" else "open",
            "completed": task.get("completed"),
            "parent_id": task.get("parent"),
            "link": task.get("webViewLink"),
        }
    )


def in_order(tasks: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort tasks as the user sees them: by position, each subtask below its task; none is left out."""
    by_parent: dict[str | None, list[Mapping[str, Any]]] = {}
    all_tasks = list(tasks)
    known = {task.get("id") for task in all_tasks}
    for task in sorted(all_tasks, key=lambda each: str(each.get("position", ""))):
        parent = task.get("parent")
        by_parent.setdefault(parent if parent in known else None, []).append(task)
    ordered: list[Mapping[str, Any]] = []
    waiting = by_parent.pop(None, [])[::-1]
    while waiting or by_parent:
        if not waiting:  # tasks that are said to be below each other
            waiting = by_parent.pop(next(iter(by_parent)))[::-1]
        task = waiting.pop()
        ordered.append(task)
        waiting += by_parent.pop(task.get("id"), [])[::-1]
    return ordered


def day(name: str, text: str, *, days_later: int = 0) -> str:
    """Write a day as Google Tasks wants it: midnight UTC.

    Args:
        name: of the argument, for messages.
        text: YYYY-MM-DD.
        days_later: a day that many days after.

    Raises:
        GoogleError: it is no day.
    """
    try:
        wanted = date.fromisoformat(text) + timedelta(days=days_later)
    except (ValueError, OverflowError):
        raise invalid(
            f"{name} must be a day such as 2026-03-31, not {text[:40]!r}: Google Tasks knows no time of day."
        ) from None
    return f"{wanted.isoformat()}T00:00:00.000Z"
