"""Skip ``fsync`` in the process of the tests.

Only a power cut could lose data by that; a killed process does not. Programs that tests start still wait for the disk.
"""

import os


def wait_for_no_disk():
    """Replace ``fsync`` and SQLite's waits for the disk; later calls do nothing."""
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
