"""How much is tried: a part, which takes seconds, or with ``ONECLAW_TESTS_LONG=1`` all of it, which takes minutes."""

import os

IS_LONG = os.environ.get("ONECLAW_TESTS_LONG", "") not in ("", "0")


def examples(few):
    """How many examples a property is tried with.

    Args:
        few: in the normal form; the long one takes a hundred times as many.
    """
    return few * 100 if IS_LONG else few
