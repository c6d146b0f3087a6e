"""A policy for OneClaw: deny tool calls, or have the user asked, by rules in a setting."""

import json
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from oneclaw_core import Ask, CallInfo, Deny, PluginContext, SettingsRegistrar, hookimpl


class Rule(BaseModel):
    """One rule of the policy.

    Patterns are globs: ``*`` stands for any text, ``?`` for one character. Letters match in their own case only.
    """

    model_config = ConfigDict(extra="forbid")

    action: Literal["allow", "ask", "deny"]
    tools: str = Field("*", description="Pattern of the name of a tool or a tool group.")
    arguments: dict[str, str] = Field({}, description="Patterns of arguments, by their names; all of them must match.")
    reason: str = Field("", description="Shown to the model and the user.")

    def matches(self, call: CallInfo) -> bool:
        """Return True if the rule is about a call."""
        names = [call.tool] if call.group is None else [call.tool, call.group]
        return any(fnmatchcase(name, self.tools) for name in names) and all(
            name in call.arguments and fnmatchcase(_text(call.arguments[name]), pattern)
            for name, pattern in self.arguments.items()
        )


class PolicySettings(BaseModel):
    """The settings of the plugin."""

    rules: list[Rule] = Field(
        [],
        description="The first rule that matches a call decides; without one it may go on.",
        json_schema_extra={"user_only": True},  # no tool may change them
    )


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    register(PolicySettings)


@hookimpl
async def before_tool_call(context: PluginContext, call: CallInfo) -> Deny | Ask | None:
    settings: PolicySettings = context.settings
    rule = next((each for each in settings.rules if each.matches(call)), None)
    if rule is None or rule.action == "allow":
        return None  # the ordinary permissions are asked for next, as without the policy
    reason = rule.reason or f"the policy is to {rule.action} for {call.tool}"
    # A permission for each tool, so that "always" is an answer for this tool alone.
    return Deny(reason) if rule.action == "deny" else Ask(f"policy.{call.tool}", reason)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
