"""The stand-in's Google Tasks."""

from __future__ import annotations

from typing import Any

from google_service import Call, Service, bad_request, handles, not_found

DEFAULT_LIST = "default-list"


class Tasks(Service):
    """Task lists, and their tasks in the order of their positions."""

    def start(self) -> None:
        self.lists: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, list[dict[str, Any]]] = {}
        self.add_list("My Tasks", DEFAULT_LIST)

    def add_list(self, title: str, list_id: str | None = None) -> str:
        list_id = list_id or self.new_id("list")
        self.lists[list_id] = {"kind": "tasks#taskList", "id": list_id, "title": title, "updated": self.now()}
        self.tasks[list_id] = []
        return list_id

    def add(self, title: str, list_id: str = DEFAULT_LIST, **values: Any) -> str:
        """Put a task behind the others, as one of Google's own apps would."""
        task = self._new(title=title, **values)
        self.tasks[list_id].append(task)
        self._renumber(list_id)
        return task["id"]

    def task(self, task_id: str) -> dict[str, Any]:
        return next(task for tasks in self.tasks.values() for task in tasks if task["id"] == task_id)

    def titles(self, list_id: str = DEFAULT_LIST) -> list[str]:
        return [task["title"] for task in self.tasks[list_id]]

    def _new(self, **values: Any) -> dict[str, Any]:
        task_id = self.new_id("task")
        return {
            "kind": "tasks#task",
            "id": task_id,
            "status": "needsAction",
            "updated": self.now(),
            "webViewLink": f"https://tasks.google.com/task/{task_id}",
            **values,
        }

    def _renumber(self, list_id: str) -> None:
        for number, task in enumerate(self.tasks[list_id]):
            task["position"] = f"{number:020d}"

    def _list_id(self, call: Call) -> str:
        list_id = DEFAULT_LIST if call["tasklist"] == "@default" else call["tasklist"]
        if list_id not in self.lists:
            raise not_found("Task list")
        return list_id

    def _find(self, list_id: str, task_id: str) -> dict[str, Any]:
        for task in self.tasks[list_id]:
            if task["id"] == task_id:
                return task
        raise not_found("Task")

    def _place(self, list_id: str, task: dict[str, Any], parent: str | None, previous: str | None) -> None:
        if parent is not None:
            over = self._find(list_id, parent)
            if "parent" in over or "assignmentInfo" in over:
                raise bad_request("Invalid parent.")
            task["parent"] = parent
        else:
            task.pop("parent", None)
        tasks = self.tasks[list_id]
        place = tasks.index(self._find(list_id, previous)) + 1 if previous else 0
        tasks.insert(place, task)
        self._renumber(list_id)

    @handles("tasks.tasklists.list")
    def list_lists(self, call: Call) -> dict[str, Any]:
        items, following = self.page(call, list(self.lists.values()), default=1000, most=1000)
        return {"kind": "tasks#taskLists", "items": items, **following}

    @handles("tasks.tasklists.get")
    def get_list(self, call: Call) -> dict[str, Any]:
        return self.lists[self._list_id(call)]

    @handles("tasks.tasklists.insert")
    def insert_list(self, call: Call) -> dict[str, Any]:
        return self.lists[self.add_list(call.body["title"])]

    @handles("tasks.tasklists.patch")
    def patch_list(self, call: Call) -> dict[str, Any]:
        self.lists[self._list_id(call)].update(call.body)
        return self.lists[self._list_id(call)]

    @handles("tasks.tasklists.delete")
    def delete_list(self, call: Call) -> None:
        list_id = self._list_id(call)
        if list_id == DEFAULT_LIST:
            raise bad_request("The default task list cannot be deleted.")
        del self.lists[list_id], self.tasks[list_id]

    @handles("tasks.tasks.list")
    def list_tasks(self, call: Call) -> dict[str, Any]:
        def is_shown(task: dict[str, Any]) -> bool:
            due = task.get("due")
            return (
                (call.get("showHidden", False) or not task.get("hidden"))
                and (call.get("showCompleted", True) or task["status"] != "completed")
                and (call.get("showAssigned", False) or "assignmentInfo" not in task)
                and ("dueMin" not in call.parameters or (due is not None and due >= call["dueMin"]))
                and ("dueMax" not in call.parameters or (due is not None and due < call["dueMax"]))
            )

        items, following = self.page(call, [task for task in self.tasks[self._list_id(call)] if is_shown(task)])
        return {"kind": "tasks#tasks", "items": items, **following}

    @handles("tasks.tasks.get")
    def get(self, call: Call) -> dict[str, Any]:
        return self._find(self._list_id(call), call["task"])

    @handles("tasks.tasks.insert")
    def insert(self, call: Call) -> dict[str, Any]:
        list_id = self._list_id(call)
        task = self._new(**call.body)
        if "due" in task:
            task["due"] = f"{task['due'][:10]}T00:00:00.000Z"
        self._place(list_id, task, call.get("parent"), call.get("previous"))
        return task

    @handles("tasks.tasks.patch")
    def patch(self, call: Call) -> dict[str, Any]:
        task = self._find(self._list_id(call), call["task"])
        for name, value in call.body.items():
            if value is None:
                task.pop(name, None)
            else:
                task[name] = f"{value[:10]}T00:00:00.000Z" if name == "due" else value
        if task["status"] == "completed":
            task.setdefault("completed", self.now())
        elif call.body.get("status") == "needsAction":
            task.pop("hidden", None)
        return task

    @handles("tasks.tasks.move")
    def move(self, call: Call) -> dict[str, Any]:
        list_id = self._list_id(call)
        task = self._find(list_id, call["task"])
        target = call.get("destinationTasklist", list_id)
        target = DEFAULT_LIST if target == "@default" else target
        if target not in self.lists:
            raise not_found("Task list")
        for each in (call.get("parent"), call.get("previous")):
            if each is not None:
                self._find(target, each)
        self.tasks[list_id].remove(task)
        self._place(target, task, call.get("parent"), call.get("previous"))
        self._renumber(list_id)
        return task

    @handles("tasks.tasks.delete")
    def delete(self, call: Call) -> None:
        list_id = self._list_id(call)
        task = self._find(list_id, call["task"])
        self.tasks[list_id] = [
            each for each in self.tasks[list_id] if task["id"] not in (each["id"], each.get("parent"))
        ]

    @handles("tasks.tasks.clear")
    def clear(self, call: Call) -> None:
        for task in self.tasks[self._list_id(call)]:
            if task["status"] == "completed":
                task["hidden"] = True


SERVICE = Tasks
