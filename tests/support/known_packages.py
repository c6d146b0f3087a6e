"""Look once for the packages of the environment that tests run in.

Nothing is installed there while they run. Each command and each home looks at all of these packages, to see whether any
has come or gone.
"""

import os
import sys
from functools import cache
from pathlib import Path

_CHECKOUT = str(Path(__file__).parents[2])


def look_for_packages_once():
    """Remember what lies in the directories of ``sys.path``, and in those of the checkout; later calls do nothing."""
    from oneclaw_core.plugins import installed

    look = installed._metadata_in
    if look.__module__ == __name__:
        return
    # As they are now, before any test adds its own.
    lasting = {os.path.abspath(each) for each in sys.path if each}  # noqa: PTH100  # as it is looked up
    known = cache(look)

    def look_once(path):
        return known(path) if path in lasting or path.startswith(_CHECKOUT) else look(path)

    installed._metadata_in = look_once
