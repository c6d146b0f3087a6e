"""JSON Schema of arguments and results: validate, read leniently, say what is wrong, and write short types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.json_schema.compact import plain_types as plain_types
    from oneclaw_core.json_schema.compact import short_type as short_type
    from oneclaw_core.json_schema.lenient_arguments import lenient_reading as lenient_reading
    from oneclaw_core.json_schema.valid import result_faults as result_faults
    from oneclaw_core.json_schema.validation import argument_faults as argument_faults
    from oneclaw_core.json_schema.validation import compile_schema as compile_schema
    from oneclaw_core.types.arguments import ArgumentsError as ArgumentsError
    from oneclaw_core.types.arguments import parse_arguments as parse_arguments

__getattr__, __dir__, __all__ = lazy_names(__name__)
