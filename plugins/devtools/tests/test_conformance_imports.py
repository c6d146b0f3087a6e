"""What importing costs is read from Python's own measurement."""

import pytest
from oneclaw_devtools.conformance.imports import import_costs, import_findings

pytestmark = pytest.mark.every_python

STDERR = """\
import time:       100 |        100 | pluggy
oneclaw check: begin import
import time:      1000 |       1000 |     numpy.core
import time:     40000 |      60000 |   numpy
import time:      5000 |      66000 | acme_things
oneclaw check: end import
oneclaw check: begin register_tools
import time:       500 |        500 |   pydantic_core
import time:     90000 |     100000 | pydantic
import time:     30000 |      30000 | yaml
oneclaw check: end register_tools
oneclaw check: begin module acme_things.tools
import time:    900000 |     900000 | pandas
oneclaw check: end module acme_things.tools
"""


def test_libraries_are_counted_once_and_the_cores_own_not_at_all():
    costs, of_core = import_costs(STDERR, "acme_things")

    assert [(each.library, each.milliseconds) for each in costs] == [("numpy", 60), ("yaml", 30), ("acme_things", 5)]
    assert of_core == 100


def test_what_is_slow_is_named():
    costs, _ = import_costs(STDERR, "acme_things")

    (slow,) = import_findings(costs, 300)
    (heavy,) = import_findings(costs, 40)

    assert (slow.check, heavy.check) == ("import.slow", "import.heavy")
    assert "numpy 60 ms, yaml 30 ms" in slow.cause
    assert list(import_findings(costs[2:], 12)) == []
