import asyncio
import os
from pathlib import Path

import pytest

from oneclaw_core.cli.asking import LineReader
from oneclaw_core.errors import UsageError

pytestmark = pytest.mark.lowest_versions


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


async def all_lines(reader):
    lines = LineReader(reader)
    found = []
    while (line := await lines.read_line()) is not None:
        found.append(line)
    return found


def test_lines_of_a_pipe(pipe):
    reader, writer = pipe
    os.write(writer, "one\r\n\nzwölf \xff".encode("latin-1") + b"\nlast")
    os.close(writer)
    assert asyncio.run(all_lines(reader)) == ["one", "", "zw\ufffdlf \ufffd", "last"]


def test_lines_of_a_file(tmp_path):
    (tmp_path / "lines").write_text("one\ntwo\n")
    with (tmp_path / "lines").open() as file:
        assert asyncio.run(all_lines(file.fileno())) == ["one", "two"]


def test_nothing_at_all():
    with Path(os.devnull).open() as nothing:
        assert asyncio.run(all_lines(nothing.fileno())) == []


def test_the_loop_goes_on_while_a_line_is_awaited_and_waiting_can_be_stopped(pipe):
    reader, writer = pipe

    async def scenario():
        lines = LineReader(reader)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lines.read_line(), 0.01)
        os.write(writer, b"ha")
        waiting = asyncio.create_task(lines.read_line())
        await asyncio.sleep(0)
        assert not waiting.done()
        os.write(writer, b"lf\n")
        return await asyncio.wait_for(waiting, 5)

    assert asyncio.run(scenario()) == "half"
    os.close(writer)


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("oneclaw_core.cli.asking.MAX_LINE_BYTES", 100_000)
    with Path("/dev/zero").open() as endless, pytest.raises(UsageError, match="longer than 100,000 bytes"):
        asyncio.run(all_lines(endless.fileno()))
