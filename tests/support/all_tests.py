"""What holds for all tests, those of the core and those of plugins; conftest modules import it."""

import gc
import os
import tempfile
from pathlib import Path

import marked_files
import needed_programs
import own_environment  # noqa: F401  # before keyring is imported
import pytest
from filelock import FileLock
from folders_of_tests import own_cache, tmp_path
from forgotten_secrets import forgotten_secrets
from how_long import register_profiles
from known_packages import look_for_packages_once
from no_waiting_for_disks import wait_for_no_disk
from prepared_databases import prepare_databases_once
from shared_fork_servers import share_fork_servers
from unchanged_checkout import look_at_checkout_once

__all__ = ["forgotten_secrets", "own_cache", "pytest_configure", "tmp_path"]

needed_programs.hide_programs()
share_fork_servers()
wait_for_no_disk()
prepare_databases_once()
look_for_packages_once()
look_at_checkout_once()


class _RareGarbageCollection:
    """Collect garbage more rarely: libraries and collected tests stay to the end, and looking at them takes long."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        gc.disable()
        try:
            return (yield)
        finally:
            gc.enable()

    def pytest_collection_finish(self):
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)


class _CollectingInTurn:
    """Let the processes of pytest-xdist import the tests in turn: the second one finds them compiled."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
        if run is None:
            return (yield)
        path = Path(tempfile.gettempdir(), f"oneclaw-tests-{run}.lock")
        with FileLock(path):
            try:
                return (yield)
            finally:
                path.unlink(missing_ok=True)


class _ProfilesOfHypothesis:
    """Tell hypothesis how much to try before a module that uses it is imported; other starts need not import it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path):
        if "hypothesis" in module_path.read_text(encoding="utf-8"):
            register_profiles()


def pytest_configure(config):
    """Register the parts that work for the whole run, once."""
    parts = {
        "needed_programs": needed_programs,
        "marked_files": marked_files,
        "profiles_of_hypothesis": _ProfilesOfHypothesis(),
        "rare_garbage_collection": _RareGarbageCollection(),
        "collecting_in_turn": _CollectingInTurn(),
    }
    for name, part in parts.items():
        if not config.pluginmanager.has_plugin(name):
            config.pluginmanager.register(part, name)
