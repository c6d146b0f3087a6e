"""Its background worker is no async function."""

from oneclaw_core import hookimpl


def work(host):
    pass


@hookimpl
def register_workers(register):
    register("things", work)
