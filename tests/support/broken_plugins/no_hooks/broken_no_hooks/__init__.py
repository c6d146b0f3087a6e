"""It forgot to mark its hooks."""


def register_tools(register):
    pass
