"""The path of one message through the core stays short."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_FILES = 35
MOST_FUNCTIONS = 200


def test_one_message_with_one_tool_call_enters_few_files_and_functions():
    command = [sys.executable, "-m", "benchmarks.trace", "--list"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    counts = re.search(r"(\d+) files, (\d+) functions", listed)
    assert counts is not None
    files, functions = map(int, counts.groups())
    assert files <= MOST_FILES, listed
    assert functions <= MOST_FUNCTIONS, listed
