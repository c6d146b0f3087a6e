"""A write of a turn that fails because the database is away is repeated, less and less often, for a bounded time."""

import asyncio

import pytest

from oneclaw_core.errors import StoreUnavailableError
from oneclaw_core.turn import call_records
from oneclaw_core.turn.stream import Deadline


@pytest.fixture
def pauses(monkeypatch):
    """Make pauses short, and note what the user is told before each."""
    monkeypatch.setattr(call_records, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(call_records, "_LONGEST_PAUSE_SECONDS", 0.04)
    return []


def write_after(pauses, failures, deadline_seconds=60.0):
    left = iter(range(failures))

    async def write():
        for number in left:
            raise StoreUnavailableError(f"away {number}")
        return "stored"

    async def tell(error, pause_seconds):
        pauses.append((str(error), pause_seconds))

    first = StoreUnavailableError("away")
    return asyncio.run(call_records.retried(write, first, Deadline(deadline_seconds), tell))


def test_the_write_is_repeated_after_longer_and_longer_pauses(pauses):
    assert write_after(pauses, 4) == "stored"
    assert pauses == [("away", 0.01), ("away 0", 0.02), ("away 1", 0.04), ("away 2", 0.04), ("away 3", 0.04)]


def test_the_first_pause_is_short():
    pauses = []
    assert write_after(pauses, 0) == "stored"
    assert pauses == [("away", 0.05)]


def test_after_a_while_the_last_error_is_raised(pauses, monkeypatch):
    monkeypatch.setattr(call_records, "STORE_RETRY_SECONDS", 0.1)
    with pytest.raises(StoreUnavailableError) as caught:
        write_after(pauses, 1_000)
    assert 0 < len(pauses) < 20
    assert str(caught.value) == f"away {len(pauses) - 1}"


def test_nothing_is_repeated_after_the_deadline_of_the_turn(pauses):
    with pytest.raises(StoreUnavailableError, match=r"^away$"):
        write_after(pauses, 1, deadline_seconds=0.001)
    assert pauses == []
