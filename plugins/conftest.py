"""What holds for the tests of plugins in the work tree, also where only they are run."""

import own_environment  # noqa: F401  # before keyring is imported
from how_long import register_profiles
from rare_garbage_collection import collect_garbage_rarely, pytest_collection_finish
from shared_fork_servers import share_fork_servers

__all__ = ["pytest_collection_finish"]

register_profiles()
collect_garbage_rarely()
share_fork_servers()
