"""Public names for commands of plugins, beside those of ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.cli.asking import read_input_line as read_input_line
    from oneclaw_core.cli.output import json_option as json_option
    from oneclaw_core.cli.output import print_json as print_json
    from oneclaw_core.cli.output import print_table as print_table
    from oneclaw_core.cli.output import print_text as print_text
    from oneclaw_core.cli.output import warn as warn
    from oneclaw_core.cli.running import run_async as run_async

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.cassettes.cassette import entries_of_session as entries_of_session
    from oneclaw_core.cassettes.cassette import write_cassette as write_cassette
    from oneclaw_core.channels.commands import chat_command_names as chat_command_names
    from oneclaw_core.cli.asking import LineReader as LineReader
    from oneclaw_core.cli.asking import terminal_confirmer as terminal_confirmer
    from oneclaw_core.cli.catalog import HomeCatalog as HomeCatalog
    from oneclaw_core.cli.catalog import load_catalog as load_catalog
    from oneclaw_core.cli.catalog import not_found as not_found
    from oneclaw_core.cli.keys import read_secret as read_secret
    from oneclaw_core.cli.main import check_commands as check_commands
    from oneclaw_core.cli.models import warn_of_missing_prices as warn_of_missing_prices
    from oneclaw_core.cli.options import ConversationChoice as ConversationChoice
    from oneclaw_core.cli.options import confirm as confirm
    from oneclaw_core.cli.options import conversation_options as conversation_options
    from oneclaw_core.cli.options import note_cut_off as note_cut_off
    from oneclaw_core.cli.options import note_missing_parts as note_missing_parts
    from oneclaw_core.cli.options import open_asking as open_asking
    from oneclaw_core.cli.options import session_hint as session_hint
    from oneclaw_core.cli.options import stacked as stacked
    from oneclaw_core.cli.options import yes_option as yes_option
    from oneclaw_core.cli.output import RAW_VARIABLE as RAW_VARIABLE
    from oneclaw_core.cli.output import document_of as document_of
    from oneclaw_core.cli.output import fitting_widths as fitting_widths
    from oneclaw_core.cli.output import has_no_room as has_no_room
    from oneclaw_core.cli.output import is_terminal as is_terminal
    from oneclaw_core.cli.output import json_text as json_text
    from oneclaw_core.cli.output import longest_words as longest_words
    from oneclaw_core.cli.output import print_error as print_error
    from oneclaw_core.cli.output import print_listing as print_listing
    from oneclaw_core.cli.output import printable as printable
    from oneclaw_core.cli.output import printable_line as printable_line
    from oneclaw_core.cli.output import printable_name as printable_name
    from oneclaw_core.cli.output import reserved_stdout as reserved_stdout
    from oneclaw_core.cli.output import styled as styled
    from oneclaw_core.cli.output import table_text as table_text
    from oneclaw_core.cli.rendering import EventLines as EventLines
    from oneclaw_core.cli.rendering import TurnView as TurnView
    from oneclaw_core.cli.rendering import cut_to_width as cut_to_width
    from oneclaw_core.cli.rendering import failures_as_events as failures_as_events
    from oneclaw_core.cli.run import read_stdin as read_stdin
    from oneclaw_core.cli.running import with_configuration as with_configuration
    from oneclaw_core.cli.running import with_home as with_home
    from oneclaw_core.cli.running import with_store as with_store
    from oneclaw_core.cli.sessions import find_stored as find_stored
    from oneclaw_core.cli.sessions import listed_session as listed_session
    from oneclaw_core.cli.sessions import message_document as message_document
    from oneclaw_core.cli.sessions import message_outcome as message_outcome
    from oneclaw_core.cli.sessions import message_speaker as message_speaker
    from oneclaw_core.cli.sessions import session_document as session_document
    from oneclaw_core.cli.sessions import stored_messages as stored_messages
    from oneclaw_core.cli.sessions import timestamp as timestamp
    from oneclaw_core.cli.trust import forget_trust as forget_trust
    from oneclaw_core.cli.trust import trust_directory as trust_directory
    from oneclaw_core.compaction.estimate import definition_tokens as definition_tokens
    from oneclaw_core.config.keys import EnvironmentVariables as EnvironmentVariables
    from oneclaw_core.files.attachments import read_attachment as read_attachment
    from oneclaw_core.files.attachments import size_text as size_text
    from oneclaw_core.installation.stores import backend_of as backend_of
    from oneclaw_core.installation.stores import home_with_backend as home_with_backend
    from oneclaw_core.previews.preview import request_document as request_document
    from oneclaw_core.services.manager import chat_services as chat_services
    from oneclaw_core.shipped.missing import similar_names as similar_names
    from oneclaw_core.system.home import find_profiles as find_profiles
    from oneclaw_core.types.agents import MAX_SYSTEM_PROMPT_CHARACTERS as MAX_SYSTEM_PROMPT_CHARACTERS
    from oneclaw_core.types.budget import dollars as dollars

__getattr__, __dir__, __all__ = lazy_names(__name__)
