"""The user's reviews, for loading: they are read when the first plugin of others is loaded."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.user_choices import review_required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.installation.reviewing import Reviews


def reviews_of(stored: Mapping[str, Any], environ: Mapping[str, str]) -> Callable[[], Reviews]:
    """Return what reads the reviews, once.

    Args:
        stored: settings, as JSON data.
        environ: the environment.
    """

    @cache
    def reviews() -> Reviews:
        from oneclaw_core.installation.reviewing import Reviews  # most listings have plugins of OneClaw alone

        return Reviews(is_required=review_required(stored, environ))

    return reviews
