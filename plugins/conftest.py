"""The limits of a process that has restricted itself."""

import own_environment  # noqa: F401  # before keyring is imported
from how_long import register_profiles
from shared_fork_servers import share_fork_servers

register_profiles()
share_fork_servers()
