"""Print the numbers of AgentDojo: ``uv run --group attacks python tests/security/dojo``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "support"))

from dojo_table import whole_report

sys.stdout.write(f"{whole_report()}\n")
