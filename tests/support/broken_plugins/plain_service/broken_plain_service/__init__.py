"""Its service is no async function."""

from oneclaw_core import hookimpl


def work(context):
    pass


@hookimpl
def register_services(register):
    register("things", work)
