"""The table of the clients of Chat Completions in ``docs/serve.md``."""

from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def rows_of_the_page():
    from benchmarks.chat_clients.__main__ import BEGIN, END, PAGE

    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_the_page_has_every_client():
    from benchmarks.chat_clients.__main__ import CHECKS, CLIENTS

    rows = rows_of_the_page()
    assert [row[0] for row in rows] == [each.name for each in CLIENTS]
    assert {len(row) for row in rows} == {2 + len(CHECKS)}


@pytest.mark.long
@pytest.mark.one_python
@pytest.mark.skipif(not (which("uv") and which("npm")), reason="uv and npm install the clients")
def test_every_client_does_what_the_page_says():
    from benchmarks.chat_clients.__main__ import CLIENTS, rows_of

    found = {row[0]: row[2:] for row in rows_of(list(CLIENTS))}
    assert found == {row[0]: row[2:] for row in rows_of_the_page()}
