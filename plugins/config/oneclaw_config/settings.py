"""The tools for settings and for environment variables of the user's own tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_config.answers import answering, ask_to_change, required
from oneclaw_core import NotFoundError, ProtectedError, UsageError

if TYPE_CHECKING:
    from oneclaw_core import SettingState, ToolContext


@answering()
async def get_config(key: str, *, context: ToolContext) -> str:
    """Read a setting; of one that there is not, say which there are."""
    name = required("key", key)
    settings = context.services.configuration.settings
    try:
        state = await settings.get(name)
    except NotFoundError:
        states = await settings.list()
        listed = "\n".join(f"- {each.key}: {each.description}" for each in states)
        return f"'{name}' is not set, and is not a setting. The settings are:\n{listed}"
    return f"{_described(state)}\n{state.description[:1].upper()}{state.description[1:]}."


@answering("update_failed")
async def set_config(key: str, value: str, *, context: ToolContext) -> str:
    """Set a setting."""
    name, wanted = required("key", key), required("value", value)
    settings = context.services.configuration.settings
    try:
        before = await settings.get(name)
    except NotFoundError as error:
        raise UsageError(str(error)) from None
    if before.is_user_only:
        raise ProtectedError(f"{name} can be changed by the user only: oneclaw config set {name} VALUE")
    settings.check(name, wanted)
    await ask_to_change(
        context, f"change the setting {name} from {_shown(before.value)} to {wanted}", f"setting {name}"
    )
    after = await settings.set(name, wanted)
    if after.source != "stored":
        return f"{name} is stored, but the {after.source} goes before it: the value in force is {_shown(after.value)}."
    return f"{name} is {_shown(after.value)}; it was {_shown(before.value)}."


@answering("update_failed")
async def manage_env_var(action: str, key: str | None = None, value: str | None = None, *, context: ToolContext) -> str:
    """List, set or delete an environment variable of the user's own tools; no value is ever shown."""
    variables = context.services.configuration.environment
    if action == "list":
        names = variables.names()
        return "\n".join(f"- {name} = ****" for name in names) if names else "No environment variable is set."
    name = required("key", key or "")
    if action == "delete":
        if name not in variables.names():
            return f"{name} is not set."
        await ask_to_change(
            context, f"delete the environment variable {name} of the user's own tools", f"variable {name}"
        )
        variables.remove(name)
        return f"{name} is deleted."
    if value is None:
        raise UsageError("value is needed to set a variable; an empty text is one")
    variables.check(name, value)
    await ask_to_change(context, f"set the environment variable {name} of the user's own tools", f"variable {name}")
    return f"{name} is {'changed' if variables.set(name, value) else 'set'}; the user's own JavaScript tools see it."


def _described(state: SettingState) -> str:
    text = f"{state.key} is {_shown(state.value)} (source: {state.source}; default: {_shown(state.default)})."
    return f"{text} {state.problem}" if state.problem else text


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    return ", ".join(str(each) for each in value) or "empty" if isinstance(value, list) else str(value)
