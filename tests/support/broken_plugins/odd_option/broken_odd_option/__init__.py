"""Its service runs in a place that there is not."""

from oneclaw_core import hookimpl


@hookimpl
def register_services(register):
    register("things", print, runs_in=("cellar",))
