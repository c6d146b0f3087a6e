"""Its service is not an async function."""

from oneclaw_core import hookimpl


def work(context):
    pass


@hookimpl
def register_services(register):
    register("things", work)
