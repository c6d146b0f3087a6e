"""Look at the files of this checkout's packages once a process.

Each start of the program in a test's own process looks whether a plugin that is installed in editable form has changed,
which takes longer than the rest of most commands. No test changes the files of the checkout.
"""

from functools import cache
from pathlib import Path

_CHECKOUT = str(Path(__file__).parents[2])


def look_at_checkout_once():
    """Remember the state of each directory within the checkout; the first call counts."""
    from oneclaw_core.plugins import installed

    state_of = installed._tree_state
    if state_of.__module__ == __name__:
        return
    remembered = cache(state_of)

    def state(directory):
        return remembered(directory) if directory.startswith(_CHECKOUT) else state_of(directory)

    installed._tree_state = state
