"""Public names for commands of plugins, beside those of ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.channels.shared_commands import chat_command_names as chat_command_names
    from oneclaw_core.cli.catalog import HomeCatalog as HomeCatalog
    from oneclaw_core.cli.catalog import load_catalog as load_catalog
    from oneclaw_core.cli.catalog import not_found as not_found
    from oneclaw_core.cli.chat_input import read_input_line as read_input_line
    from oneclaw_core.cli.main import check_commands as check_commands
    from oneclaw_core.cli.output import is_terminal as is_terminal
    from oneclaw_core.cli.output import json_option as json_option
    from oneclaw_core.cli.output import print_json as print_json
    from oneclaw_core.cli.output import print_table as print_table
    from oneclaw_core.cli.output import print_text as print_text
    from oneclaw_core.cli.output import printable as printable
    from oneclaw_core.cli.output import printable_line as printable_line
    from oneclaw_core.cli.output import reserved_stdout as reserved_stdout
    from oneclaw_core.cli.output import styled as styled
    from oneclaw_core.cli.output import table_text as table_text
    from oneclaw_core.cli.output import warn as warn
    from oneclaw_core.cli.prompt import request_document as request_document
    from oneclaw_core.cli.run import read_stdin as read_stdin
    from oneclaw_core.cli.running import run_async as run_async
    from oneclaw_core.cli.trust import forget_trust as forget_trust
    from oneclaw_core.cli.trust import trust_directory as trust_directory
    from oneclaw_core.config.environment_variables import EnvironmentVariables as EnvironmentVariables
    from oneclaw_core.home import find_profiles as find_profiles
    from oneclaw_core.turn.estimate import definition_tokens as definition_tokens

_NAMES = {
    ".channels.shared_commands": "chat_command_names",
    ".config.environment_variables": "EnvironmentVariables",
    ".home": "find_profiles",
    ".turn.estimate": "definition_tokens",
    "catalog": "HomeCatalog load_catalog not_found",
    "chat_input": "read_input_line",
    "main": "check_commands",
    "output": (
        "is_terminal json_option print_json print_table print_text printable printable_line reserved_stdout styled "
        "table_text warn"
    ),
    "prompt": "request_document",
    "run": "read_stdin",
    "running": "run_async",
    "trust": "forget_trust trust_directory",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
