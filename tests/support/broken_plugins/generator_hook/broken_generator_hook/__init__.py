from oneclaw_core import hookimpl


@hookimpl
def after_tool_call(call):
    yield call
