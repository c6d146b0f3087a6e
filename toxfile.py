"""Share the tests out among the environments, as tox itself cannot.

The setting ``marks`` names the tests to run, and ``processes`` says in how many processes they run.

``tox -e py312`` runs all tests on Python 3.12. Where tox runs its whole list, no test runs twice: ``plugins`` runs most
tests of the plugins, the default Python all others, and other Pythons those that depend on the version. These are few,
so importing them in a second process would take longer than it saves.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tox.plugin import impl

if TYPE_CHECKING:
    from tox.config.sets import EnvConfigSet
    from tox.session.state import State

DEFAULT = f"py{sys.version_info.major}{sys.version_info.minor}"


@impl
def tox_add_env_config(env_conf: EnvConfigSet, state: State) -> None:
    """Choose the tests of an environment as a mark expression of pytest."""
    processes = 2
    chosen = getattr(state.conf.options, "env", None)
    if chosen is not None and not chosen.is_default_list:
        marks = "not long"
    elif env_conf.name == DEFAULT:
        marks = "not long and (one_python or not of_plugin)"
    else:
        marks = "not long and every_python and not one_python"
        processes = 0
    env_conf.add_config("marks", of_type=str, default=marks, desc="the tests to run, as a mark expression of pytest")
    env_conf.add_config("processes", of_type=str, default=str(processes), desc="how many processes share the tests")
