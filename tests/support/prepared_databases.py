"""Begin each new SQLite file with a copy of one that was made before.

It gets forty tables, which takes a third of the time of opening a new home. They are always the same.
"""


def prepare_databases_once():
    """Copy the first new database of this process for those that follow; the first call counts."""
    from oneclaw_core.sessions import migrations
    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

    prepare = Backend.prepare
    if prepare.__module__ == __name__:
        return
    create = migrations.create
    made = []

    def prepare_from_copy(self):
        is_replaced_by_test = migrations.create is not create
        if is_replaced_by_test or not isinstance(self, SqliteBackend) or self.path.stat().st_size:
            return prepare(self)
        if not made:
            prepare(self).close()
            made.append(self.path.read_bytes())
        self.path.write_bytes(made[0])
        return self.connect()

    Backend.prepare = prepare_from_copy
