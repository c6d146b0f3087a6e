"""Google Tasks: the tool group ``google_tasks``."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import (
    compact,
    counted,
    failed,
    from_outside,
    google_tool,
    listing,
    parted,
    passage,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

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
        GoogleError: it is not a day.
    """
    try:
        wanted = date.fromisoformat(text) + timedelta(days=days_later)
    except (ValueError, OverflowError):
        raise invalid(
            f"{name} must be a day such as 2026-03-31, not {text[:40]!r}: Google Tasks knows no time of day."
        ) from None
    return f"{wanted.isoformat()}T00:00:00.000Z"


DEFAULT_LIST = "@default"
_UNCLEAR = "Look for it with tasks_list"


@google_tool
async def tasks_list(
    tasklist_id: str = DEFAULT_LIST,
    list_tasklists: bool = False,
    status: str = "open",
    due_after: str | None = None,
    due_before: str | None = None,
    include_assigned: bool = False,
    max_results: int = 100,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """List the tasks of a list, or the lists."""
    google = connect(context)
    if list_tasklists:
        page = await google.call(
            "tasks.tasklists.list",
            maxResults=max_results,
            pageToken=page_token,
            fields="items(id,title),nextPageToken",
        )
        found = {"tasklists": page.get("items", []), "next_page_token": page.get("nextPageToken")}
        return from_outside(compact(found), "task lists")
    page = await google.call(
        "tasks.tasks.list",
        tasklist=tasklist_id,
        # Tasks that were ticked off in Google's own apps are hidden.
        showCompleted=status != "open",
        showHidden=status != "open",
        showAssigned=include_assigned,
        dueMin=due_after and day("due_after", due_after),
        dueMax=due_before and day("due_before", due_before, days_later=1),
        maxResults=max_results,
        pageToken=page_token,
        fields=f"items({TASK_FIELDS},assignmentInfo/surfaceType),nextPageToken",
    )
    rows = [row(task) for task in in_order(page.get("items", []))]
    shown = [each for each in rows if status in ("all", each["status"])]
    return from_outside({"tasks": shown, **compact({"next_page_token": page.get("nextPageToken")})}, "tasks")


@google_tool
async def tasks_create(
    title: str,
    notes: str | None = None,
    due: str | None = None,
    tasklist_id: str = DEFAULT_LIST,
    new_tasklist_title: str | None = None,
    parent_id: str | None = None,
    previous_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a task, and its list if a new list is named; a list of that name is used if there is one."""
    google = connect(context)
    body = compact({"title": title, "notes": notes, "due": due and day("due", due)})
    if new_tasklist_title and (parent_id or previous_id):
        raise invalid("In a new list there is no task to put this one under or after.")
    place = f"the list {listing([new_tasklist_title])}" if new_tasklist_title else await _called(google, tasklist_id)
    day_text = f", due {body['due'][:10]}" if due else ""
    noted = f", with the notes {passage(notes)}" if notes else ""
    await google.ask(f"create the task {passage(title)}{day_text} in {place}{noted}")
    if new_tasklist_title:
        tasklist_id = await _list_named(google, new_tasklist_title)
    task = await google.call(
        "tasks.tasks.insert",
        tasklist=tasklist_id,
        parent=parent_id,
        previous=previous_id,
        body=body,
        fields=TASK_FIELDS,
        unclear_hint=_UNCLEAR,
    )
    return {**row(task), "tasklist_id": tasklist_id}


@google_tool
async def tasks_update(
    task_id: str | None = None,
    tasklist_id: str = DEFAULT_LIST,
    title: str | None = None,
    notes: str | None = None,
    due: str | None = None,
    parent_id: str | None = None,
    previous_id: str | None = None,
    destination_tasklist_id: str | None = None,
    new_tasklist_title: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Change a task, move it, or rename a list."""
    google = connect(context)
    texts = {"title": title, "notes": notes, "due": due}
    # An empty text clears a field, which Google is told by null.
    body = {name: text or None for name, text in texts.items() if text is not None}
    if due:
        body["due"] = day("due", due)
    places = {"parent_id": parent_id, "previous_id": previous_id, "destination_tasklist_id": destination_tasklist_id}
    is_move = any(value is not None for value in places.values())
    if title is not None and not title.strip():
        raise invalid("A task cannot be without a title.")
    if task_id is None:
        if not new_tasklist_title or body or is_move:
            raise invalid("Give task_id and what to change, or tasklist_id and new_tasklist_title to rename a list.")
        return await _rename_list(google, tasklist_id, new_tasklist_title)
    if new_tasklist_title or not (body or is_move):
        raise invalid("Give what to change about the task; new_tasklist_title renames a list, without task_id.")
    before = await google.call("tasks.tasks.get", tasklist=tasklist_id, task=task_id, fields="id,title,parent")
    changed = [*body, *(name for name, value in places.items() if value is not None)]
    new = [
        f"{name} to {passage(text)}" if text else f"{name} to nothing" for name, text in texts.items() if name in body
    ]
    if is_move:
        target = destination_tasklist_id and await _called(google, destination_tasklist_id)
        new.append(f"its place, to {target}" if target else "its place")
    await google.ask(f"change of the task {listing([before.get('title', task_id)])}: {', '.join(new)}")
    task = before
    if body:
        task = await google.call("tasks.tasks.patch", tasklist=tasklist_id, task=task_id, body=body, fields=TASK_FIELDS)
    if is_move:
        task = await _move(google, tasklist_id, before, task_id, places, list(body))
    where = destination_tasklist_id or tasklist_id
    return {**row(task), "tasklist_id": where, "changed": changed}


@google_tool
async def tasks_complete(
    task_ids: list[str], tasklist_id: str = DEFAULT_LIST, reopen: bool = False, *, context: ToolContext
) -> dict[str, Any]:
    """Tick off tasks, or reopen them."""
    google = connect(context)
    task_ids = list(dict.fromkeys(task_ids))
    known, missing = await _look(google, tasklist_id, task_ids)
    named = listing(task.get("title", "") for task in known.values())
    await google.ask(f"{'reopen' if reopen else 'tick off'} {counted(len(known), 'task')}: {named}", "organize")
    body = {"status": "needsAction", "completed": None} if reopen else {"status": "completed"}
    outcomes = await google.batch(
        [
            api_request("tasks.tasks.patch", tasklist=tasklist_id, task=task_id, body=body, fields=TASK_FIELDS)
            for task_id in known
        ]
    )
    done, errors = parted(known, outcomes)
    if not done:
        raise errors[0][1]
    return {"tasks": [row(task) for task in done], **compact({"failed": failed([*missing, *errors])})}


@google_tool
async def tasks_delete(
    target: str = "tasks",
    task_ids: list[str] | None = None,
    tasklist_id: str = DEFAULT_LIST,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Delete tasks, clear the completed ones of a list, or delete a whole list."""
    google = connect(context)
    if target == "tasks":
        if not task_ids:
            raise invalid("Give task_ids, from tasks_list.")
        return await _delete_tasks(google, tasklist_id, list(dict.fromkeys(task_ids)))
    if task_ids:
        raise invalid(f"task_ids go with target tasks, not with {target}.")
    if target == "tasklist" and tasklist_id == DEFAULT_LIST:
        raise invalid("The default list cannot be deleted. Give the tasklist_id of another one, from tasks_list.")
    tasklist = await google.call("tasks.tasklists.get", tasklist=tasklist_id, fields="id,title")
    named = listing([tasklist.get("title", tasklist_id)])
    if target == "completed":
        await google.ask(f"clear the completed tasks of the list {named}", "delete")
        await google.call("tasks.tasks.clear", tasklist=tasklist_id)
        return {"cleared": tasklist}
    await google.ask(f"delete the whole task list {named} with all its tasks, permanently", "delete")
    await google.call("tasks.tasklists.delete", tasklist=tasklist_id)
    return {"deleted_tasklist": tasklist}


async def _list_named(google: GoogleClient, title: str) -> str:
    """Find the list of a name, or make it."""
    lists, _ = await google.all_items(
        "tasks.tasklists.list", "items", fields="items(id,title)", limit=2000, maxResults=1000
    )
    for each in lists:
        if each.get("title") == title:
            return str(each["id"])
    made = await google.call("tasks.tasklists.insert", body={"title": title}, fields="id", unclear_hint=_UNCLEAR)
    return str(made["id"])


async def _rename_list(google: GoogleClient, tasklist_id: str, title: str) -> dict[str, Any]:
    before = await google.call("tasks.tasklists.get", tasklist=tasklist_id, fields="id,title")
    await google.ask(f"rename the task list {listing([before.get('title', tasklist_id)])} to {listing([title])}")
    after = await google.call("tasks.tasklists.patch", tasklist=tasklist_id, body={"title": title}, fields="id,title")
    return {"tasklist": after, "changed": ["title"]}


async def _move(
    google: GoogleClient,
    tasklist_id: str,
    before: dict[str, Any],
    task_id: str,
    places: dict[str, str | None],
    changed: list[str],
) -> dict[str, Any]:
    """Move a task; one that is only put elsewhere among its siblings stays under its parent."""
    parent = places["parent_id"]
    if parent is None and places["destination_tasklist_id"] is None:
        parent = before.get("parent")
    try:
        return await google.call(
            "tasks.tasks.move",
            tasklist=tasklist_id,
            task=task_id,
            parent=parent or None,
            previous=places["previous_id"] or None,
            destinationTasklist=places["destination_tasklist_id"] or None,
            fields=TASK_FIELDS,
        )
    except GoogleError as error:
        if not changed:
            raise
        raise GoogleError(
            error.error_type, f"{', '.join(changed)} of the task are changed, but it could not be moved. {error}"
        ) from None


async def _look(
    google: GoogleClient, tasklist_id: str, task_ids: list[str]
) -> tuple[dict[str, dict[str, Any]], list[tuple[dict[str, Any], GoogleError]]]:
    """Look at tasks before anything is done with them, so that the user sees their titles; also what is missing.

    Raises:
        GoogleError: none of them is there.
    """
    fields = "id,title,assignmentInfo/surfaceType"
    found = await google.batch(
        [api_request("tasks.tasks.get", tasklist=tasklist_id, task=task_id, fields=fields) for task_id in task_ids]
    )
    before = dict(zip(task_ids, found, strict=True))
    known = {task_id: task for task_id, task in before.items() if isinstance(task, dict)}
    missing = [({"id": task_id}, error) for task_id, error in before.items() if isinstance(error, GoogleError)]
    if not known:
        raise missing[0][1]
    return known, missing


async def _called(google: GoogleClient, tasklist_id: str) -> str:
    """Return the name of a list in a question."""
    if tasklist_id == DEFAULT_LIST:
        return "the default list"
    found = await google.call("tasks.tasklists.get", tasklist=tasklist_id, fields="title")
    return f"the list {listing([found.get('title', tasklist_id)])}"


async def _delete_tasks(google: GoogleClient, tasklist_id: str, task_ids: list[str]) -> dict[str, Any]:
    known, missing = await _look(google, tasklist_id, task_ids)
    assigned = [task for task in known.values() if task.get("assignmentInfo")]
    warning = ", and with them what they were assigned from in Docs or Chat" if assigned else ""
    named = listing(task.get("title", "") for task in known.values())
    await google.ask(f"delete {counted(len(known), 'task')} permanently: {named}{warning}", "delete")
    outcomes = await google.batch(
        [api_request("tasks.tasks.delete", tasklist=tasklist_id, task=task_id) for task_id in known]
    )
    deleted, not_deleted = [], []
    for (task_id, task), outcome in zip(known.items(), outcomes, strict=True):
        if isinstance(outcome, GoogleError) and outcome.status not in (404, 410):
            not_deleted.append(({"id": task_id}, outcome))
        else:
            deleted.append(compact({"id": task_id, "title": task.get("title")}))
    return {"deleted": deleted, **compact({"failed": failed([*missing, *not_deleted])})}
