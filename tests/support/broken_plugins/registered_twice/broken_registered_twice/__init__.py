"""It registers two things of one name."""

from oneclaw_core import hookimpl


@hookimpl
def register_chat_commands(register):
    register("things", print)
    register("things", print)
