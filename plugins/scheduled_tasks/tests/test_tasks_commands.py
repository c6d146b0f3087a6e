"""``oneclaw tasks``."""

import json

import pytest
from how_long import some

from oneclaw_core.cli.main import main


@pytest.fixture
def oneclaw(home, capsys):
    """Run the program; give its exit status and what it printed."""

    def run(*arguments):
        status = main(list(arguments))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def add(oneclaw, *options):
    status, out, err = oneclaw("tasks", "add", "Water", "Drink", *options, "--json")
    assert status == 0, err
    return json.loads(out)


def test_a_task_from_its_beginning_to_its_end(oneclaw):
    made = add(oneclaw, "--at", "09:00", "--time-zone", "Europe/Berlin", "--group", "pdf_or_none", "--group", "*")
    task_id = made["id"]
    _, listed, _ = oneclaw("tasks", "list", "--json")
    _, table, _ = oneclaw("tasks", "list")
    _, shown, _ = oneclaw("tasks", "show", task_id)
    _, edited, _ = oneclaw("tasks", "edit", task_id, "--day", "sunday", "--max-cost", "0.5")
    _, same, _ = oneclaw("tasks", "edit", task_id, "--max-cost", "0.5")
    _, paused, _ = oneclaw("tasks", "pause", task_id)
    _, resumed, _ = oneclaw("tasks", "resume", task_id)
    _, ran, _ = oneclaw("tasks", "run", task_id)
    _, log, _ = oneclaw("tasks", "log", task_id, "--json")
    _, deleted, _ = oneclaw("tasks", "delete", task_id)
    _, empty, _ = oneclaw("tasks", "list", "--json")

    assert made["schedule"] == {"schedule_type": "daily", "hour": 9, "minute": 0}
    assert made["tool_groups"] is None
    assert json.loads(listed) == [made]
    assert "Water  daily at 09:00 (Europe/Berlin)  yes      never" in table
    assert "schedule_text: daily at 09:00 (Europe/Berlin)" in shown
    assert "every Sunday at 09:00 (Europe/Berlin); max_cost: none -> 0.5" in edited
    assert same == f"task {task_id} is as it was\n"
    assert "enabled: yes -> no; next run: none" in paused
    assert "enabled: no -> yes; next run: Sunday" in resumed
    assert ran.startswith(f"run {task_id}-manual-")
    (run,) = json.loads(log)
    assert (run["status"], run["manual"]) == ("waiting", True)
    assert deleted == f"task {task_id} is deleted\n"
    assert json.loads(empty) == []


def test_a_decision_on_a_permission_is_for_one_task_and_ends_with_it(oneclaw):
    first, second = (add(oneclaw, "--at", "09:00")["id"] for _ in range(2))
    oneclaw("tasks", "add", "Report", "Count.", "--at", "09:00")

    status, _, error = oneclaw("permissions", "grant", "network.private", "--task", "water")
    assert status == 2
    assert "2 tasks have the name 'water': give an id" in error
    assert oneclaw("permissions", "grant", "network.private", "--task", first)[1] == (
        f"network.private, in the task {first} is granted\n"
    )
    assert oneclaw("permissions", "deny", "network.public", "--task", "report")[0] == 0

    oneclaw("tasks", "delete", second)
    oneclaw("tasks", "delete", first)
    _, listed, _ = oneclaw("permissions", "list", "--json")
    assert [each["name"] for each in json.loads(listed) if each.get("task")] == ["network.public"]


@pytest.mark.parametrize(
    ("options", "text"),
    some(
        [
            (["--cron", "0 9 * * mon-fri"], "by cron '0 9 * * mon-fri' (UTC)"),
            (["--every", "90"], "every 90 minutes (UTC)"),
            (["--every", "90s"], "every 90 seconds (UTC)"),
            (["--date", "2099-01-01", "--at", "8:05"], "once on 2099-01-01 at 08:05 (UTC)"),
            (
                ["--day", "Fri", "--at", "18:00", "--until", "2099-01-01"],
                "every Friday at 18:00 until 2099-01-01 (UTC)",
            ),
        ],
        5,
    ),
)
def test_schedules(oneclaw, options, text):
    assert add(oneclaw, *options, "--time-zone", "UTC")["schedule_text"] == text


def test_how_old_a_missed_run_may_be_follows_the_policy_unless_it_is_said(oneclaw):
    made = add(oneclaw, "--every", "5", "--missed", "all", "--jitter", "60")
    _, edited, _ = oneclaw("tasks", "edit", made["id"], "--missed", "run_once")
    _, said, _ = oneclaw("tasks", "edit", made["id"], "--missed", "all", "--catch-up", "600")

    assert made["catch_up_seconds"] == 366 * 24 * 3600
    assert made["schedule_text"].startswith("every 5 minutes, up to 60 s later")
    assert "catch_up_seconds: 31622400 -> 3600" in edited
    assert "catch_up_seconds: 3600 -> 600" in said


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_what_only_the_user_sets(oneclaw):
    made = add(oneclaw, "--every", "5", "--webhook", "https://example.com/x", "--command", "cat", "--retries", "3")
    _, edited, _ = oneclaw("tasks", "edit", made["id"], "--webhook", "", "--command", "", "--group", "")

    assert (made["webhook"], made["command"], made["retries"]) == ("https://example.com/x", "cat", 3)
    assert "tool_groups: all -> none; " in edited
    assert "webhook: https://example.com/x -> none; command: cat -> none" in edited


@pytest.mark.parametrize(
    ("options", "reason"),
    some(
        [
            ([], "say when: --at HH:MM"),
            (["--at", "25:00"], "--at must be a time of day as HH:MM, not '25:00'"),
            (["--at", "9:60"], "--at must be a time of day as HH:MM, not '9:60'"),
            (["--day", "monday"], "--at is needed for a weekly schedule"),
            (["--at", "9:00", "--day", "someday"], "--day must be one of Monday"),
            (["--at", "9:00", "--date", "soon"], "--date must be a day of the calendar as YYYY-MM-DD, not 'soon'"),
            (["--at", "9:00", "--until", "soon"], "--until must be a day of the calendar"),
            (["--at", "9:00", "--jitter", "-1"], "--jitter must be a whole number from 0"),
            (["--at", "9"], "--at must be a time of day as HH:MM"),
            (["--at", "9:5"], "--at must be"),
            (["--date", "2020-01-01", "--at", "9:00"], "lies in the past"),
            (["--cron", "bad"], "--cron must be an expression of five fields"),
            (["--cron", "0 9 * * *", "--at", "9:00"], "--at and --cron do not go together"),
            (["--day", "monday", "--every", "5"], "--day and --every do not go together"),
            (["--every", "0"], "--every MINUTES must be a whole number from 1 to"),
            (["--every", "5s"], "--every SECONDS must be a whole number from 10 to"),
            (["--every", "soon"], "--every must be a number of minutes, or of seconds as in 90s"),
            (["--every", "0", "--at", "9:00"], "--at and --every do not go together"),
            (["--at", "9:00", "--time-zone", "Mars"], "there is no time zone 'Mars'"),
            pytest.param(
                ["--at", "9:00", "--webhook", "ftp://x"], "--webhook must be a URL", marks=pytest.mark.one_python
            ),
            (["--at", "9:00", "--retries", "99"], "--retries must be a whole number from 0 to 20"),
            (["--at", "9:00", "--max-seconds", "0"], "--max-seconds must be"),
            (["--at", "9:00", "--max-cost", "-1"], "--max-cost must be"),
            (["--at", "9:00", "--group", "nonsense"], "there is no tool group 'nonsense'"),
        ],
        4,
    ),
)
def test_wrong_usage_has_a_reason(oneclaw, options, reason):
    status, out, err = oneclaw("tasks", "add", "Water", "Drink", *options)

    assert (status, out) == (2, "")
    assert reason in err


@pytest.mark.parametrize("command", some(["show", "edit", "run", "pause", "resume", "delete", "log"], 3))
def test_an_unknown_task(oneclaw, command):
    status, _, err = oneclaw("tasks", command, "000000000000")

    assert status == 2
    assert "there is no task '000000000000'; list them with: oneclaw tasks list" in err


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--at", "9:00"], "--at cannot be given for an interval schedule; it takes --every MINUTES"),
        (["--day", "monday"], "--at is needed for a weekly schedule"),
    ],
)
def test_an_error_of_a_changed_schedule_names_options(oneclaw, options, reason):
    task_id = add(oneclaw, "--every", "5")["id"]

    status, _, err = oneclaw("tasks", "edit", task_id, *options)
    assert (status, err) == (2, f"oneclaw: {reason}\n")


@pytest.mark.long
def test_a_task_can_be_named_if_its_name_is_unique(oneclaw):
    task_id = add(oneclaw, "--at", "09:00")["id"]

    assert f"id: {task_id}" in oneclaw("tasks", "show", "water")[1]
    assert "prompt: Drink -> Sip" in oneclaw("tasks", "edit", "Water", "--prompt", "Sip")[1]
    assert "enabled: yes -> no" in oneclaw("tasks", "pause", "Water")[1]
    assert "enabled: no -> yes" in oneclaw("tasks", "resume", "Water")[1]
    assert oneclaw("tasks", "run", "Water")[1].startswith(f"run {task_id}-manual-")
    assert len(json.loads(oneclaw("tasks", "log", "Water", "--json")[1])) == 1

    add(oneclaw, "--at", "10:00")
    status, _, err = oneclaw("tasks", "delete", "Water")
    assert (status, "2 tasks have the name 'Water': give an id" in err) == (2, True)
    oneclaw("tasks", "edit", task_id, "--name", "Tea")
    assert oneclaw("tasks", "delete", "tea")[1] == f"task {task_id} is deleted\n"


def test_a_database_that_cannot_be_opened(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_TASKS_DATABASE_URL", "postgresql+psycopg://me:secret@127.0.0.1:1/x")
    status, _, err = oneclaw("tasks", "list")

    assert status == 1
    assert "the tasks' database of type 'postgresql+psycopg' cannot be used" in err
    assert "secret" not in err


@pytest.mark.long
def test_the_status_without_workers_says_when_there_will_be_one(home, capsys):
    assert main(["tasks", "worker", "--status"]) == 1
    assert "no worker is running; oneclaw serve and oneclaw chat start theirs with the first" in capsys.readouterr().out

    main(["tasks", "add", "Water", "Drink", "--at", "9:00"])
    assert main(["tasks", "worker", "--status"]) == 1
    assert "start theirs some seconds after they start" in capsys.readouterr().out
