"""A redactor for OneClaw: replaces secrets in the results of tools, before they are stored or sent to a model."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field

from oneclaw_core import PluginContext, SettingsRegistrar, ToolResult, hookimpl, redact

_PATTERNS = [
    r"\bAKIA[0-9A-Z]{16}\b",  # Amazon Web Services
    r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b",  # GitHub
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",  # JSON Web Token
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
]


class RedactorSettings(BaseModel):
    """The settings of the plugin."""

    patterns: list[re.Pattern[str]] = Field(
        [re.compile(pattern) for pattern in _PATTERNS], description="Regular expressions of what is replaced."
    )
    replacement: str = Field("[redacted]", description="Put in the place of each match.")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    register(RedactorSettings)


# Behind all other rewriters: one of them may put a secret into a result.
@hookimpl(trylast=True)
async def rewrite_tool_result(context: PluginContext, result: ToolResult) -> ToolResult | None:
    settings: RedactorSettings = context.settings

    def clean(text: str) -> str:
        for pattern in settings.patterns:
            text = pattern.sub(lambda match: settings.replacement, text)
        return redact(text)  # the keys that OneClaw itself knows

    value = _mapped(result.result, clean)
    message = None if result.error_message is None else clean(result.error_message)
    if (value, message) == (result.result, result.error_message):
        return None
    return replace(result, result=value, error_message=message)


def _mapped(value: Any, clean: Callable[[str], str]) -> Any:
    """Apply a function to all texts of a value that JSON can hold, the names in objects included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_mapped(each, clean) for each in value]
    if isinstance(value, dict):
        return {clean(name): _mapped(each, clean) for name, each in value.items()}
    return value
