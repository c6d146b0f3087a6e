"""Set up the tests of plugins in the work tree, also where only they are run."""

import os
from pathlib import Path

import own_environment  # noqa: F401  # before keyring is imported
import pytest
from folders_of_tests import tmp_path
from forgotten_secrets import forgotten_secrets
from how_long import register_profiles
from no_waiting_for_disks import wait_for_no_disk
from prepared_databases import prepare_databases_once
from rare_garbage_collection import collect_garbage_rarely, pytest_collection_finish, pytest_unconfigure
from shared_fork_servers import share_fork_servers

__all__ = ["forgotten_secrets", "pytest_collection_finish", "pytest_unconfigure", "tmp_path"]

register_profiles()
collect_garbage_rarely()
share_fork_servers()
wait_for_no_disk()
prepare_databases_once()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of plugins, so that those of the core can be chosen without them."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.of_plugin)
