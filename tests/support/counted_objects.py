"""Objects in memory, counted before and after many calls."""

import gc
from collections import Counter


def counted_objects():
    """Count what the garbage collector knows, by type, after it has collected all that it can."""
    for _ in range(3):
        gc.collect()
    return Counter(type(each).__name__ for each in gc.get_objects())


def assert_none_left(before, after, calls, most_per_call=0.75):
    """Fail if more than a few objects were added: an object of each call would be as many as the calls.

    Args:
        before: counted before the calls.
        after: counted after them.
        calls: how many there were.
        most_per_call: fewer objects than these were added; one call that stays keeps dozens.
    """
    more = after - before
    # What is kept up to a limit may still grow a little.
    assert more.total() < most_per_call * calls, more.most_common(20)
