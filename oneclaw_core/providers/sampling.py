"""Sampling parameters that a model does not take: an agent sets them for models of any service.

OpenAI's reasoning models take no temperature at all, Anthropic's take none while they think, and newer ones no two of
the kind at once. Each says so only when it is asked.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core.providers.base import ModelRequest

# What a model can do without, the one that is missed least first.
_SAMPLING = ("top_k", "top_p", "frequency_penalty", "presence_penalty", "temperature")
_NOT_TAKEN = re.compile(
    r"unsupported|not support|deprecated|not (be )?(allowed|permitted|available)|may only be|only the default"
    r"|cannot both|can't both|not compatible|incompatible|unrecognized|unknown (parameter|name)|extra inputs"
    r"|when thinking",
    re.IGNORECASE,
)

_log = logging.getLogger("oneclaw.provider")


class RefusedParameters:
    """Which sampling parameters the models of one service have refused."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}  # by model

    def without(self, request: ModelRequest) -> ModelRequest:
        """Leave out of a request what its model has refused before."""
        names = self._names.get(request.model)
        if not names or names.isdisjoint(request.parameters):
            return request
        kept = {name: value for name, value in request.parameters.items() if name not in names}
        return replace(request, parameters=kept)

    def note(self, refusal: str, request: ModelRequest) -> bool:
        """Note what a refusal says about a sampling parameter of its request.

        Args:
            refusal: what the service says.
            request: what it refused.

        Returns:
            Whether the request can be sent again without the parameter.
        """
        if not _NOT_TAKEN.search(refusal):
            return False
        for name in _SAMPLING:
            if request.parameters.get(name) is not None and re.search(rf"\b{name}\b", refusal):
                self._names.setdefault(request.model, set()).add(name)
                _log.info("%s does not take %s; it is left out from now on", request.model, name)
                return True
        return False
