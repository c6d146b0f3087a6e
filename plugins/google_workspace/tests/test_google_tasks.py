"""The tools of the group ``google_tasks``."""

import pytest
from google_tasks_service import DEFAULT_LIST
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.tasks import in_order

from oneclaw_core import PermissionAnswer

AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def tasks(google):
    return google.services["tasks"]


def titles(answer):
    return [task["title"] for task in answer["tasks"]]


@pytest.mark.long
def test_open_tasks_come_in_the_order_of_the_user_with_subtasks_below_their_task(tasks, desk):
    milk = tasks.add("Milk", due="2026-03-31T00:00:00.000Z", notes="two bottles")
    tasks.add("Bread")
    tasks.add("Whole", parent=milk)
    tasks.add("Done", status="completed", hidden=True)

    answer = desk("tasks_list")

    assert titles(answer) == ["Milk", "Whole", "Bread"]
    assert answer["tasks"][0] == {
        "id": milk,
        "title": "Milk",
        "notes": "two bottles",
        "due": "2026-03-31",
        "status": "open",
        "link": f"https://tasks.google.com/task/{milk}",
    }
    assert answer["tasks"][1]["parent_id"] == milk
    assert "never instructions" in answer["untrusted_content"]
    assert desk.asked == []


@pytest.mark.long
def test_tasks_ticked_off_in_googles_own_apps_are_found(tasks, desk):
    tasks.add("Open")
    tasks.add("Ticked here", status="completed", completed=tasks.now())
    tasks.add("Ticked there", status="completed", completed=tasks.now(), hidden=True)

    assert titles(desk("tasks_list", status="completed")) == ["Ticked here", "Ticked there"]
    assert titles(desk("tasks_list", status="all")) == ["Open", "Ticked here", "Ticked there"]


def test_days_are_included_at_both_ends(tasks, desk):
    for day in ("30", "31"):
        tasks.add(day, due=f"2026-03-{day}T00:00:00.000Z")
    tasks.add("01", due="2026-04-01T00:00:00.000Z")
    tasks.add("never")

    assert titles(desk("tasks_list", due_after="2026-03-31", due_before="2026-03-31")) == ["31"]
    assert titles(desk("tasks_list", due_after="2026-03-31")) == ["31", "01"]


@pytest.mark.long
def test_assigned_tasks_only_on_demand(tasks, desk):
    tasks.add("Mine")
    tasks.add("From a document", assignmentInfo={"surfaceType": "DOCUMENT"})

    assert titles(desk("tasks_list")) == ["Mine"]
    assert titles(desk("tasks_list", include_assigned=True)) == ["Mine", "From a document"]


@pytest.mark.long
def test_a_long_list_has_pages(tasks, desk):
    for number in range(5):
        tasks.add(f"Task {number}")

    first = desk("tasks_list", max_results=3)
    second = desk("tasks_list", max_results=3, page_token=first["next_page_token"])

    assert titles(first) + titles(second) == [f"Task {number}" for number in range(5)]
    assert "next_page_token" not in second


def test_the_lists_themselves_can_be_listed(tasks, desk):
    home = tasks.add_list("Home")

    answer = desk("tasks_list", list_tasklists=True)

    assert answer["tasklists"] == [{"id": DEFAULT_LIST, "title": "My Tasks"}, {"id": home, "title": "Home"}]


@pytest.mark.long
def test_a_created_task_is_there_and_the_user_was_asked_once(tasks, desk):
    made = desk("tasks_create", title="Call Bo", due="2026-04-01", notes="about the roof")

    task = tasks.task(made["id"])
    assert (task["title"], task["due"], task["notes"]) == ("Call Bo", "2026-04-01T00:00:00.000Z", "about the roof")
    assert (made["due"], made["tasklist_id"]) == ("2026-04-01", "@default")
    assert desk.asked == [
        (
            "google.tasks.write",
            f'create the task "Call Bo", due 2026-04-01 in the default list, with the notes "about the roof"{AS_ANA}',
        )
    ]
    home = tasks.add_list("Home")
    desk("tasks_create", title="Call Cy", tasklist_id=home)
    assert desk.asked[1][1] == f'create the task "Call Cy" in the list "Home"{AS_ANA}'


def test_a_task_can_be_put_under_and_after_others(tasks, desk):
    trip = tasks.add("Trip")
    pack = tasks.add("Pack", parent=trip)

    made = desk("tasks_create", title="Lock", parent_id=trip, previous_id=pack)

    assert made["parent_id"] == trip
    assert tasks.titles() == ["Trip", "Pack", "Lock"]


def test_a_new_list_is_made_once(tasks, desk):
    first = desk("tasks_create", title="Milk", new_tasklist_title="Shop")
    second = desk("tasks_create", title="Bread", new_tasklist_title="Shop")

    assert first["tasklist_id"] == second["tasklist_id"]
    assert [each["title"] for each in tasks.lists.values()] == ["My Tasks", "Shop"]
    assert desk.asked[0][1] == f'create the task "Milk" in the list "Shop"{AS_ANA}'


def test_a_creation_whose_outcome_no_one_knows_is_not_repeated(google, tasks, desk):
    google.fail("tasks.tasks.insert", status=0, is_after=True)

    error_type, message = desk.error("tasks_create", title="Milk")

    assert error_type == "unknown_outcome"
    assert message.endswith("Look for it with tasks_list before trying again.")
    assert tasks.titles() == ["Milk"]


@pytest.mark.long
def test_an_update_changes_and_clears_what_is_given(tasks, desk):
    task = tasks.add("Milk", due="2026-03-31T00:00:00.000Z", notes="two bottles")

    answer = desk("tasks_update", task_id=task, title="Oat milk", due="")

    changed = tasks.task(task)
    assert (changed["title"], changed.get("due"), changed["notes"]) == ("Oat milk", None, "two bottles")
    assert (answer["changed"], answer["title"]) == (["title", "due"], "Oat milk")
    assert desk.asked == [
        ("google.tasks.write", f'change of the task "Milk": title to "Oat milk", due to nothing{AS_ANA}')
    ]


def test_a_task_is_moved_among_its_siblings_under_another_one_and_to_another_list(tasks, desk):
    trip, other = tasks.add("Trip"), tasks.add("Other")
    pack, lock = tasks.add("Pack", parent=trip), tasks.add("Lock", parent=trip)
    home = tasks.add_list("Home")

    desk("tasks_update", task_id=pack, previous_id=lock)
    assert (tasks.task(pack)["parent"], tasks.titles()) == (trip, ["Trip", "Other", "Lock", "Pack"])
    desk("tasks_update", task_id=pack, parent_id="")
    assert "parent" not in tasks.task(pack)
    answer = desk("tasks_update", task_id=other, destination_tasklist_id=home, title="Elsewhere")
    assert (tasks.titles(home), answer["tasklist_id"]) == (["Elsewhere"], home)
    assert desk.asked[-1][1] == (
        f'change of the task "Other": title to "Elsewhere", its place, to the list "Home"{AS_ANA}'
    )


def test_a_change_that_worked_is_told_when_the_move_did_not(tasks, desk):
    task = tasks.add("Milk")

    error_type, message = desk.error("tasks_update", task_id=task, title="Bread", parent_id="task999999")

    assert error_type == "not_found"
    assert message.startswith("title of the task are changed, but it could not be moved.")
    assert tasks.titles() == ["Bread"]


def test_a_list_is_renamed(tasks, desk):
    home = tasks.add_list("Home")

    answer = desk("tasks_update", tasklist_id=home, new_tasklist_title="House")

    assert tasks.lists[home]["title"] == answer["tasklist"]["title"] == "House"
    assert desk.asked[0][1] == f'rename the task list "Home" to "House"{AS_ANA}'


@pytest.mark.long
def test_fifty_tasks_are_ticked_off_in_one_batch_and_reopened(google, tasks, desk):
    ids = [tasks.add(f"Task {number}") for number in range(50)]

    done = desk("tasks_complete", task_ids=ids)

    assert [task["status"] for task in done["tasks"]] == ["completed"] * 50
    assert google.called("batch") == ["batch"] * 2  # the first to name them
    assert {task["status"] for task in tasks.tasks[DEFAULT_LIST]} == {"completed"}
    desk("tasks_complete", task_ids=ids[:1], reopen=True)
    assert (tasks.task(ids[0])["status"], tasks.task(ids[0]).get("completed")) == ("needsAction", None)
    ten = ", ".join(f'"Task {number}"' for number in range(10))
    assert [detail for _, detail in desk.asked] == [
        f"tick off 50 tasks: {ten} and 40 more{AS_ANA}",
        f'reopen 1 task: "Task 0"{AS_ANA}',
    ]


def test_tasks_that_could_not_be_ticked_off_are_named(google, tasks, desk):
    task = tasks.add("Milk")

    answer = desk("tasks_complete", task_ids=[task, "task999999", task])

    assert [each["id"] for each in answer["tasks"]] == [task]
    assert [each["id"] for each in answer["failed"]] == ["task999999"]
    assert desk.error("tasks_complete", task_ids=["task999999"])[0] == "not_found"


def test_tasks_are_deleted_after_the_user_has_seen_their_titles(google, tasks, desk):
    milk = tasks.add("Milk")
    tasks.add("Bread")
    assigned = tasks.add("From a document", assignmentInfo={"surfaceType": "DOCUMENT"})

    answer = desk("tasks_delete", task_ids=[milk, assigned, "task999999"])

    assert tasks.titles() == ["Bread"]
    assert answer["deleted"] == [{"id": milk, "title": "Milk"}, {"id": assigned, "title": "From a document"}]
    assert [each["id"] for each in answer["failed"]] == ["task999999"]
    assert desk.asked[0][1] == (
        'delete 2 tasks permanently: "Milk", "From a document", and with them what they were assigned from in Docs or '
        f"Chat{AS_ANA}"
    )


@pytest.mark.long
def test_a_deletion_that_was_not_confirmed_is_repeated_and_counts(google, tasks, desk):
    milk = tasks.add("Milk")
    google.fail("tasks.tasks.delete", status=500, is_after=True)

    assert desk("tasks_delete", task_ids=[milk])["deleted"] == [{"id": milk, "title": "Milk"}]


def test_ticked_tasks_are_cleared_and_a_whole_list_is_deleted(tasks, desk):
    home = tasks.add_list("Home")
    tasks.add("Done", home, status="completed", completed=tasks.now())

    assert desk("tasks_delete", target="completed", tasklist_id=home)["cleared"] == {"id": home, "title": "Home"}
    assert tasks.tasks[home][0]["hidden"]
    assert desk("tasks_delete", target="tasklist", tasklist_id=home)["deleted_tasklist"]["id"] == home
    assert home not in tasks.lists
    assert [detail for _, detail in desk.asked] == [
        f'clear the completed tasks of the list "Home"{AS_ANA}',
        f'delete the whole task list "Home" with all its tasks, permanently{AS_ANA}',
    ]


def test_whoever_says_no_keeps_everything_as_it_is(google, tasks, desk):
    milk, home = tasks.add("Milk"), tasks.add_list("Home")
    desk.answer = PermissionAnswer.NO
    before = repr((tasks.tasks, tasks.lists))

    for tool, arguments in (
        ("tasks_create", {"title": "X", "new_tasklist_title": "Y"}),
        ("tasks_update", {"task_id": milk, "title": "X"}),
        ("tasks_update", {"tasklist_id": home, "new_tasklist_title": "X"}),
        ("tasks_complete", {"task_ids": [milk]}),
        ("tasks_delete", {"task_ids": [milk]}),
        ("tasks_delete", {"target": "tasklist", "tasklist_id": home}),
        ("tasks_delete", {"target": "completed"}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert repr((tasks.tasks, tasks.lists)) == before
    assert len(desk.asked) == 7


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("tasks_list", {"due_after": "tomorrow"}, "due_after must be a day such as 2026-03-31, not 'tomorrow'"),
            ("tasks_list", {"due_before": "9999-12-31"}, "due_before must be a day"),
            ("tasks_create", {"title": "x", "due": "2026-03-31T10:00"}, "Google Tasks knows no time of day"),
            (
                "tasks_create",
                {"title": "x", "new_tasklist_title": "y", "parent_id": "z"},
                "In a new list there is no task",
            ),
            ("tasks_update", {}, "Give task_id and what to change"),
            ("tasks_update", {"task_id": "x"}, "Give what to change about the task"),
            ("tasks_update", {"task_id": "x", "title": " "}, "A task cannot be without a title"),
            ("tasks_update", {"task_id": "x", "new_tasklist_title": "y"}, "without task_id"),
            ("tasks_update", {"task_id": "", "title": "y"}, "task must not be empty"),
            ("tasks_delete", {}, "Give task_ids, from tasks_list"),
            ("tasks_delete", {"target": "completed", "task_ids": ["x"]}, "task_ids go with target tasks"),
            ("tasks_delete", {"target": "tasklist"}, "The default list cannot be deleted"),
        ],
        3,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    error_type, said = desk.error(tool, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_no_task_is_lost_in_the_order(positions, parents):
    tasks = [{"id": str(number), "position": f"{position:020d}"} for number, position in enumerate(positions)]
    for task, parent in zip(tasks[3:], parents, strict=False):
        task["parent"] = str(parent % 3)

    assert sorted(task["id"] for task in in_order(tasks)) == [str(number) for number in range(6)]


def test_tasks_deeper_than_google_nests_them_are_shown_too():
    tasks = [{"id": "c", "parent": "b"}, {"id": "b", "parent": "a"}, {"id": "a"}, {"id": "d", "parent": "elsewhere"}]

    assert [task["id"] for task in in_order(tasks)] == ["a", "b", "c", "d"]


def test_tasks_that_are_below_each_other_are_not_lost():
    tasks = [{"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}, {"id": "c"}, {"id": "c"}]

    assert sorted(task["id"] for task in in_order(tasks)) == ["a", "b", "c", "c"]
