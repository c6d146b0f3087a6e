"""The order of the steps of a model request, as docs/architecture.md gives it."""

import re
from pathlib import Path

from oneclaw_core.turn.streamed import streamed
from oneclaw_core.wiring import MODEL_STEPS

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_steps_stand_in_the_documented_order():
    text = DOCS.read_text(encoding="utf-8").partition("\n## Asking the model\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\d+\. `(\w+)` \(`([\w.]+)`\)", text, re.MULTILINE)
    steps = [*MODEL_STEPS, streamed]
    assert documented == [(step.__name__, step.__module__.removeprefix("oneclaw_core.")) for step in steps]
