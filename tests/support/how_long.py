"""How much is tried: a part, which takes seconds, or with ``ONECLAW_TESTS_LONG=1`` all of it, which takes minutes."""

import os
from functools import cache

IS_LONG = os.environ.get("ONECLAW_TESTS_LONG", "") not in ("", "0")


def some(cases, step):
    """Return the first of each few cases, which the same code handles; in the long form all of them."""
    return list(cases)[:: 1 if IS_LONG else step]


@cache
def register_profiles():
    """Tell hypothesis how much to try; later calls do nothing."""
    from hypothesis import settings

    # A busy machine is slow now and then; that is no fault of what is tested. CI tries the same examples each time.
    settings.register_profile(
        "oneclaw", deadline=None, derandomize="CI" in os.environ, max_examples=100 if IS_LONG else 10
    )
    settings.load_profile("oneclaw")


def examples(few):
    """Return with how many examples a property is tried.

    Args:
        few: a tenth of these in the normal form, at least five; the long one takes a hundred times as many.
    """
    return few * 100 if IS_LONG else max(few // 10, 5)
