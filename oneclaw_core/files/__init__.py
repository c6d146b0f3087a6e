"""Files of tools: where they may read and write, what they saw, and text in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.files.access import new_file as new_file
    from oneclaw_core.files.access import open_for_reading as open_for_reading
    from oneclaw_core.files.access import remove_file as remove_file
    from oneclaw_core.files.access import replace_content as replace_content
    from oneclaw_core.files.paths import PathGuard as PathGuard
    from oneclaw_core.files.text_content import NotReadableError as NotReadableError
    from oneclaw_core.files.text_content import read_all as read_all

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.files.access import DIRECTORY as DIRECTORY
    from oneclaw_core.files.access import append_content as append_content
    from oneclaw_core.files.access import list_directory as list_directory
    from oneclaw_core.files.access import opened_directory as opened_directory
    from oneclaw_core.files.attachments import MAX_ATTACHMENT_BYTES as MAX_ATTACHMENT_BYTES
    from oneclaw_core.files.attachments import media_type_of as media_type_of
    from oneclaw_core.files.hidden_paths import folded_name as folded_name
    from oneclaw_core.files.protected_places import ENVIRONMENTS as ENVIRONMENTS
    from oneclaw_core.files.protected_places import OBEYED_PARTS as OBEYED_PARTS
    from oneclaw_core.files.protected_places import VERSION_CONTROL as VERSION_CONTROL
    from oneclaw_core.files.protected_places import is_protected_name as is_protected_name
    from oneclaw_core.files.special_files import find_made_files as find_made_files
    from oneclaw_core.files.text_content import FileStamp as FileStamp
    from oneclaw_core.files.text_content import is_text_encoding as is_text_encoding
    from oneclaw_core.files.text_content import line_ending as line_ending
    from oneclaw_core.files.text_content import split_lines as split_lines

__getattr__, __dir__, __all__ = lazy_names(__name__)
