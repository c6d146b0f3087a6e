"""What holds for all tests."""

import own_environment  # noqa: F401  # before keyring is imported
from collected_once import pytest_addoption, pytest_collection, pytest_runtestloop
from databases import database_environ, postgres, postgres_server
from folders_of_tests import tmp_path
from forgotten_secrets import forgotten_secrets
from how_long import register_profiles
from no_waiting_for_disks import wait_for_no_disk
from prepared_databases import prepare_databases_once
from rare_garbage_collection import collect_garbage_rarely, pytest_collection_finish, pytest_unconfigure
from shared_fork_servers import share_fork_servers
from unchanged_checkout import look_at_checkout_once

__all__ = [
    "database_environ",
    "forgotten_secrets",
    "postgres",
    "postgres_server",
    "pytest_addoption",
    "pytest_collection",
    "pytest_collection_finish",
    "pytest_runtestloop",
    "pytest_unconfigure",
    "tmp_path",
]

register_profiles()
collect_garbage_rarely()
share_fork_servers()
wait_for_no_disk()
prepare_databases_once()
look_at_checkout_once()
