"""The results of AgentDojo's suites, each of which runs once; a part of each in the normal form."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session")
def results():
    """Run a suite: ``results(name, step)``, with every so many of its tasks and pairs."""
    if find_spec("agentdojo") is None:
        pytest.skip("needs the package agentdojo: uv sync --all-packages --group attacks")
    from dojo_table import results_of

    return cache(lambda name, step, **options: results_of(name, step=step, **options))
