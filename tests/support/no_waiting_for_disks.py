"""Let the tests' own process not wait until a disk has what it wrote: a fourth of what databases cost in tests.

That a killed process loses nothing does not depend on it, only what a machine without power keeps. Programs that tests
start do wait.
"""

import os


def wait_for_no_disk():
    """Leave out what brings files to the disk; the first call counts."""
    from oneclaw_core.sessions.sqlite_connection import SqliteConnection

    if os.fsync is _do_nothing:
        return
    os.fsync = _do_nothing
    connect = SqliteConnection.__init__

    def connect_without_waiting(self, *arguments, **options):
        connect(self, *arguments, **options)
        self.driver.execute("PRAGMA synchronous = OFF")

    SqliteConnection.__init__ = connect_without_waiting


def _do_nothing(_):
    pass
