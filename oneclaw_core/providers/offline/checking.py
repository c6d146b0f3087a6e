"""The last check of a call before it is made: jsonschema's own."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.catalogue import Identity, PreparedTool
from oneclaw_core.providers.offline.filling import Filling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jsonschema.protocols import Validator


def checked(tool: PreparedTool, filling: Filling) -> Filling:
    """Drop an optional value that does not keep to the schema, and count a required one as missing."""
    from oneclaw_core.tools.schema import argument_faults

    validator = _validator(Identity(tool.definition))
    calls = []
    for found in filling.calls:
        arguments = found
        faults = argument_faults(validator, arguments)
        if faults:
            wrong = _names_in(faults, arguments)
            arguments = {name: value for name, value in arguments.items() if name not in wrong}
            if argument_faults(validator, arguments):
                missing = [each for each in tool.parameters if each.name in wrong]
                missing += [each for each in tool.parameters if each.name not in found]
                return Filling(missing=missing)
        calls.append(arguments)
    return Filling(calls, filling.missing, filling.is_guess)


def _names_in(faults: Sequence[str], names: Iterable[str]) -> set[str]:
    return {name for name in names for fault in faults if re.match(rf"/{re.escape(name)}[:/]", fault)}


@lru_cache(maxsize=256)
def _validator(identity: Identity) -> Validator:
    from oneclaw_core.tools.schema import compile_schema

    return compile_schema(identity.definition.parameters)
