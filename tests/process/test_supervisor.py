"""Every command waits for the start of its supervisor, which therefore imports little."""

import subprocess
import sys
from pathlib import Path

import pytest

from oneclaw_core import process

pytestmark = pytest.mark.every_python

ROOT = Path(process.__file__).parents[2]
SHOW = """
import sys
sys.path.append(sys.argv[1])
from oneclaw_core.process import supervisor
supervisor.adopt_orphans()
print(sorted({"_ctypes", "ctypes", "enum", "re", "signal", "typing"} & {*sys.modules}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux alone")
def test_the_supervisor_adopts_orphans_without_slow_imports():
    command = [sys.executable, "-I", "-S", "-c", SHOW, str(ROOT)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "['_ctypes']\n"
