"""Collect garbage less often, which otherwise takes a seventh of the tests' processor time.

Libraries and collected tests stay to the end: the collector need not look at them, and at the rest more rarely.
"""

import gc

import pytest


def collect_garbage_rarely():
    """Raise the thresholds of the collector."""
    gc.set_threshold(20_000, 20, 50)


def pytest_collection_finish():
    """Leave out what is there by now."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure():
    """Collect the rest, which can show faults, once: pytest itself does it ten times as it ends."""
    for _ in range(5):
        if not gc.collect():
            break
    gc.freeze()
