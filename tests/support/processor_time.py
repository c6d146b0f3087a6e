"""Limits on processor time: on a busy machine, much more time than that may pass."""

import time
from contextlib import contextmanager


@contextmanager
def processor_seconds(most):
    """Fail if the block takes this process more processor time.

    Args:
        most: seconds; far more than the block takes, and far less than it would take if it were quadratic.
    """
    began = time.process_time()
    yield
    assert time.process_time() - began < most
