"""The order of the steps of a model request, as docs/architecture.md gives it."""

import re
from pathlib import Path

from oneclaw_core.compaction.compacting import Compactor
from oneclaw_core.models.spending import Costs
from oneclaw_core.turn.steps import streamed
from oneclaw_core.wiring import model_steps

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_steps_stand_in_the_documented_order():
    text = DOCS.read_text(encoding="utf-8").partition("\n## Asking the model\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\d+\. `(\w+)` \(`([\w.]+)`\)", text, re.MULTILINE)
    steps = [*model_steps(Compactor(), Costs()), streamed]
    named = [(each.__qualname__.partition(".")[0], each.__module__.removeprefix("oneclaw_core.")) for each in steps]
    assert documented == named
