"""Public names for testing programs that embed OneClaw: models and users that answer from a script or a record.

Fixtures and assertions for pytest are in the distribution ``pytest-oneclaw``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.cassettes.cassette import Cassette as Cassette
    from oneclaw_core.cassettes.cassette import CassetteError as CassetteError
    from oneclaw_core.cassettes.cassette import CassetteMissError as CassetteMissError
    from oneclaw_core.cassettes.cassette import RecordedAnswer as RecordedAnswer
    from oneclaw_core.testing.scripted import FunctionModel as FunctionModel
    from oneclaw_core.testing.scripted import ScriptedModel as ScriptedModel
    from oneclaw_core.testing.scripted import ScriptedUser as ScriptedUser

__getattr__, __dir__, __all__ = lazy_names(__name__, "pytest_oneclaw")
