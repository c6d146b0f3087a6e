"""Let the tests of a process share fork servers.

A fork server serves calls of the same environment, and each test has another: pytest names the running test in it, and
each home is another. So each test with an isolated tool would start a server, which imports for half a second. Workers
still get the environment of their call.
"""

import re

_OF_ONE_TEST = re.compile(r"PYTEST_\w+|ONECLAW_\w+|\w+_BASE_URL|\w+_API_KEY|COLUMNS|NO_COLOR|TMPDIR|HOME|PWD")


def share_fork_servers():
    """Leave out of the servers' environment what differs from test to test; the first call counts."""
    from oneclaw_core.process import python_runner

    environ_of = python_runner._server_environ
    if environ_of.__module__ == __name__:
        return

    def shared(environ, *, is_bare):
        found = environ_of(environ, is_bare=is_bare)
        return {name: value for name, value in found.items() if not _OF_ONE_TEST.fullmatch(name)}

    python_runner._server_environ = shared
