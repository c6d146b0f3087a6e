import os
import pickle

import pytest

from oneclaw_core.builtin.files import read_file, write_file
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.files.views import FileViews
from oneclaw_core.tools.context import ToolContext

CHANGED = "changed since you read it"


@pytest.fixture
def context(tmp_path):
    for each in ("workspace", "project"):
        (tmp_path / each).mkdir()
    paths = PathGuard(tmp_path / "workspace", tmp_path / "project", trusts_start=True)
    return ToolContext(tmp_path / "home", None, "test", "write_file", "call_1", paths)


@pytest.fixture
def notes(context):
    file = context.paths.workspace / "notes.txt"
    file.write_text("one\n")
    return file


def test_a_file_that_was_changed_since_it_was_read_is_not_written(context, notes):
    read_file(str(notes), context=context)
    notes.write_text("one\nof the user\n")
    result = write_file(str(notes), "one\ntwo\n", context=context)
    assert CHANGED in result.text()
    assert notes.read_text() == "one\nof the user\n"
    read_file(str(notes), context=context)
    assert write_file(str(notes), "one\ntwo\n", context=context).is_success


def test_a_change_of_the_same_length_and_time_counts(context, notes):
    read_file(str(notes), context=context)
    before = notes.stat()
    notes.write_text("two\n")
    os.utime(notes, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert CHANGED in write_file(str(notes), "three\n", context=context).text()


def test_the_same_content_at_another_time_is_no_change(context, notes):
    read_file(str(notes), start_line=1, line_count=1, context=context)
    os.utime(notes, ns=(1, 1))
    assert write_file(str(notes), "three\n", context=context).is_success


def test_what_the_session_wrote_counts_as_read(context, notes):
    assert write_file(str(notes), "first\n", context=context).is_success
    assert write_file(str(notes), "second\n", context=context).is_success
    notes.write_text("of the user\n")
    assert CHANGED in write_file(str(notes), "third\n", context=context).text()


def test_appending_keeps_what_others_wrote_and_does_not_count_as_reading_it(context, notes):
    read_file(str(notes), context=context)
    assert write_file(str(notes), "two\n", "append", context=context).is_success
    assert write_file(str(notes), "three\n", context=context).is_success
    notes.write_text("of the user\n")
    assert write_file(str(notes), "four\n", "append", context=context).is_success
    assert CHANGED in write_file(str(notes), "five\n", context=context).text()
    assert notes.read_text() == "of the user\nfour\n"


def test_a_file_that_is_gone_is_written_anew(context, notes):
    read_file(str(notes), context=context)
    notes.unlink()
    assert write_file(str(notes), "new\n", context=context).is_success


def test_a_worker_process_gets_the_states_and_gives_its_own_back():
    views = FileViews({"/a": "1"})
    there = pickle.loads(pickle.dumps(views.of_call()))
    there.add({"/b": "2"})
    views.add(there.noted)
    assert views.known == {"/a": "1", "/b": "2"}


def test_a_large_file_is_compared_by_size_and_time(context, notes):
    with notes.open("wb") as stream:
        stream.truncate(11_000_000)
    read_file(str(notes), start_line=1, context=context)
    context.paths.views.note(notes, os.open(notes, os.O_RDONLY))
    os.utime(notes, ns=(1, 1))
    assert CHANGED in write_file(str(notes), "x", context=context).text()
