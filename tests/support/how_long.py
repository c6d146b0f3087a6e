"""How much is tried: a part, which takes seconds, or with ``ONECLAW_TESTS_LONG=1`` all of it, which takes minutes.

With ``--hypothesis-profile few`` it is a small part, for the second and every further Python: what a property finds, it
finds on each.
"""

import os

from hypothesis import settings
from hypothesis.errors import InvalidArgument

IS_LONG = os.environ.get("ONECLAW_TESTS_LONG", "") not in ("", "0")
FEW = 10


def some(cases, step):
    """Return the first of each few cases, which the same code handles; in the long form all of them."""
    return cases if IS_LONG else cases[::step]


def register_profiles():
    """Let hypothesis know how to try; the first call counts, which comes before pytest reads its options."""
    try:
        settings.get_profile("few")
    except InvalidArgument:
        # A busy machine is slow now and then; that is no fault of what is tested. CI tries the same examples each time.
        settings.register_profile(
            "oneclaw", deadline=None, derandomize="CI" in os.environ, max_examples=100 if IS_LONG else 20
        )
        settings.register_profile("few", settings.get_profile("oneclaw"), max_examples=FEW)
        settings.load_profile("oneclaw")


def is_few():
    """Whether the profile ``few`` was chosen; only known once pytest has begun to collect."""
    return settings().max_examples == FEW


def examples(few):
    """How many examples a property is tried with; for the module that defines it, not for a conftest.

    Args:
        few: an eighth of these in the normal form; the long one takes a hundred times as many.
    """
    if IS_LONG:
        return few * 100
    return FEW if is_few() else max(few // 8, FEW)
