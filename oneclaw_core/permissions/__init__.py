"""Permissions of tools: decisions of the user, and the questions for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.permissions.approval import ApprovalQuestion as ApprovalQuestion
    from oneclaw_core.permissions.approval import Choice as Choice
    from oneclaw_core.permissions.approval import approval_question as approval_question
    from oneclaw_core.types.permissions import Decision as Decision
    from oneclaw_core.types.permissions import Fact as Fact
    from oneclaw_core.types.permissions import Grant as Grant

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.permissions.approval import question_text as question_text
    from oneclaw_core.permissions.approval import user_question_text as user_question_text
    from oneclaw_core.permissions.requests import grant_in_words as grant_in_words
    from oneclaw_core.types.permissions import KNOWN_PERMISSIONS as KNOWN_PERMISSIONS

__getattr__, __dir__, __all__ = lazy_names(__name__)
