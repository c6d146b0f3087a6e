"""Objects in memory, counted before and after many calls."""

import asyncio
import gc
import time
import weakref
from collections import Counter


def freeze_objects():
    """Leave out of the counts what is there now: in a process with many tests, looking at all of it takes long."""
    gc.collect()
    gc.freeze()


def counted_objects():
    """Count what the garbage collector knows, by type, after it has collected all that it can.

    What libraries keep up to a limit does not count: an event loop up to a hundred timers that were cancelled, with
    their contexts, and a connection of sqlite3 up to 200 references to cursors that are gone.
    """
    for each in gc.get_objects():
        if _is_cancelled_timer(each):
            each._context = None
    for _ in range(3):
        gc.collect()
    return Counter(
        type(each).__name__
        for each in gc.get_objects()
        if not (_is_cancelled_timer(each) or (type(each) is weakref.ref and each() is None))
    )


def _is_cancelled_timer(candidate):
    return type(candidate) is asyncio.TimerHandle and candidate.cancelled()


def assert_none_left(before, calls, most_per_call=0.75, seconds=30):
    """Fail if more than a few objects were added: an object of each call would be as many as the calls.

    On a busy machine threads may still end what calls have left to them, so the objects are counted until they are few.
    In an event loop, call this in a thread.

    Args:
        before: counted before the calls.
        calls: how many there were.
        most_per_call: fewer objects than these were added; one call that stays keeps dozens.
        seconds: how long the objects of a call may stay.
    """
    deadline = time.monotonic() + seconds
    # What is kept up to a limit may still grow a little.
    while (more := counted_objects() - before).total() >= most_per_call * calls:
        assert time.monotonic() < deadline, more.most_common(20)
        time.sleep(0.1)
