"""The guards ask no more often than before they were there, in what users really ask for."""

import pytest
from helpful_tasks import HELPFUL_TASKS
from how_long import some
from machine import Questions
from pdf_files import make_pdf


@pytest.fixture(scope="module")
def plugins():
    return ()


@pytest.fixture
def willing_user():
    return Questions(says_yes=True)


@pytest.mark.parametrize("task", some(list(HELPFUL_TASKS), 9))
def test_a_task_asks_no_more_than_before(machines, willing_user, task):
    machine = machines.current()
    if "exec" in HELPFUL_TASKS[task].calls and not machine.sandbox_is_whole():
        pytest.skip("needs bubblewrap")
    make_pdf(machine.project / "report.pdf", ["Hello"])
    expected = HELPFUL_TASKS[task]

    records = [machine.send(message, willing_user, session=task) for message in expected.messages(machine)]

    calls = [call for record in records for call in record.tool_calls]
    assert {call.name for call in calls if call.result.is_success} >= set(expected.calls), list(map(str, calls))
    assert len(willing_user.asked) <= expected.questions, willing_user.asked
