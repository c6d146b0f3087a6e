"""MEMORY.md on the disk: other writers, other encodings, and what goes wrong."""

import codecs
import os
import stat
import subprocess
import sys
import threading

import pytest
from oneclaw_memory.document import section_of
from oneclaw_memory.file import MAX_CONTENT_CHARACTERS, MAX_FILE_CHARACTERS, MemoryChangeError, MemoryFile

from oneclaw_core import OneClawError

pytestmark = [pytest.mark.every_python, pytest.mark.lowest_versions]

WRITER = """
import sys
from pathlib import Path
from oneclaw_memory.file import MemoryFile
name, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    MemoryFile(Path(sys.argv[1])).change(f"fact {number} of writer {name}", ("notes", "projects")[number % 2])
"""


@pytest.fixture
def memory(tmp_path):
    return MemoryFile(tmp_path / "home" / "MEMORY.md")


def put(memory, content):
    memory.path.parent.mkdir(exist_ok=True)
    memory.path.write_bytes(content)


def error_of(memory, *arguments, **options):
    before = memory.path.read_bytes() if memory.path.is_file() else None
    with pytest.raises(MemoryChangeError) as caught:
        memory.change(*arguments, **options)
    assert (memory.path.read_bytes() if memory.path.is_file() else None) == before
    assert "\n" not in str(caught.value)
    return caught.value.error_type


def test_a_fact_is_saved_under_its_category_in_a_file_for_the_user_alone(memory):
    change = memory.change("I like tea", "preferences")
    assert (change.done, change.section.heading, change.section.entries) == ("added", "Preferences", ("I like tea",))
    assert section_of(memory.read(), "Preferences").entries == ("I like tea",)
    assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600
    assert memory.path.read_bytes().endswith(b"\n")


def test_without_a_category_it_is_a_note(memory):
    assert memory.change("I like tea").section.heading == "Notes"
    assert memory.change("I like coffee", "no such category").section.heading == "Notes"


def test_what_is_remembered_already_is_not_saved_again(memory):
    memory.change("The user drinks green tea")
    assert error_of(memory, "the user   drinks GREEN tea.", "profile") == "duplicate_detected"
    change = memory.change("- The user drinks green tea\n- The user has a cat called Minka")
    assert change.section.entries == ("The user drinks green tea", "The user has a cat called Minka")


def test_a_fact_is_replaced_and_forgotten(memory):
    memory.change("- Lives in Köln\n- Has a cat", "profile")
    change = memory.change("Lives in Bonn", replaces=" Lives in Köln ")
    assert (change.done, change.section.entries) == ("replaced", ("Lives in Bonn", "Has a cat"))
    change = memory.change("", replaces="Has a cat")
    assert (change.done, change.section.heading, change.section.entries) == (
        "deleted",
        "User Profile",
        ("Lives in Bonn",),
    )


def test_an_entry_of_several_lines_is_replaced_by_its_text(memory):
    memory.change("Address:\nMain Street 1\nBonn")
    assert memory.change("Moved", replaces="Address:\nMain Street 1\nBonn").section.entries == ("Moved",)


def test_what_is_to_be_replaced_must_be_there_exactly_once(memory):
    memory.change("- likes tea\n- likes coffee")
    assert error_of(memory, "x", replaces="likes milk") == "not_found"
    assert error_of(memory, "x", replaces="Likes tea") == "not_found"
    assert error_of(memory, "x", replaces="likes") == "ambiguous_match"
    assert error_of(memory, "likes tea", replaces="likes tea") == "validation_error"
    assert error_of(memory, "likes coffee", replaces="likes tea") == "duplicate_detected"
    assert error_of(memory, "", replaces="Notes") == "not_found"  # a heading


@pytest.mark.parametrize("content", ["", "  \n", "-", "x" * (MAX_CONTENT_CHARACTERS + 1), f"key: ghp_{'a1B2' * 9}"])
def test_contents_that_cannot_be_remembered(memory, content):
    assert error_of(memory, content) == "validation_error"


def test_a_known_secret_is_refused(tmp_path):
    memory = MemoryFile(tmp_path / "MEMORY.md", lambda text: "swordfish" in text)
    assert error_of(memory, "the word is swordfish") == "validation_error"
    memory.change("another word")


def test_a_full_memory_can_be_shortened_only(memory):
    put(memory, b"- " + b"x" * MAX_FILE_CHARACTERS + b"\n- old entry\n")
    assert error_of(memory, "new entry") == "validation_error"
    assert memory.change("", replaces="old entry").done == "deleted"


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("cp1252", b""),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encoding_and_line_ends_stay(memory, encoding, mark, newline):
    put(memory, mark + f"## Notes{newline}- Füße{newline}".encode(encoding))
    memory.change("Käse")
    assert memory.path.read_bytes() == mark + f"## Notes{newline}- Füße{newline}- Käse{newline}".encode(encoding)
    assert memory.read() == "## Notes\n- Füße\n- Käse\n"


def test_an_encoding_that_lacks_a_character_gives_way_to_utf_8(memory):
    put(memory, "## Notes\n- Füße\n".encode("cp1252"))
    memory.change("日本")
    assert memory.path.read_text(encoding="utf-8") == "## Notes\n- Füße\n- 日本\n"


def test_bytes_of_no_encoding_are_kept(memory):
    content = b"## Notes\n- \xff\xfe\x81\x00\n"
    put(memory, content)
    memory.change("new")
    assert memory.path.read_bytes() == content + b"- new\n"


def test_mixed_line_ends_stay_as_they_are(memory):
    put(memory, b"## Notes\r\n- a\n- b\r\n\r\n## Projects\n")
    memory.change("new")
    assert memory.path.read_bytes() == b"## Notes\r\n- a\n- b\r\n- new\n\r\n## Projects\n"


def test_a_link_stays_a_link(memory, tmp_path):
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("## Notes\n- a\n")
    memory.path.parent.mkdir()
    memory.path.symlink_to(elsewhere)
    memory.change("new")
    assert memory.path.is_symlink()
    assert elsewhere.read_text() == "## Notes\n- a\n- new\n"


def test_what_is_no_readable_file_is_reported_without_waiting(memory):
    memory.path.parent.mkdir()
    assert memory.read() == ""
    os.mkfifo(memory.path)
    with pytest.raises(OneClawError, match="is not a file"):
        memory.read()
    assert error_of(memory, "x") == "save_failed"
    memory.path.unlink()
    memory.path.mkdir()
    with pytest.raises(OneClawError, match="directory"):
        memory.read()
    memory.path.rmdir()
    put(memory, b"x" * 1_000_001)
    with pytest.raises(OneClawError, match="longer"):
        memory.read()


def test_a_home_that_cannot_be_written_is_a_failed_save(tmp_path):
    (tmp_path / "file").write_text("")
    assert error_of(MemoryFile(tmp_path / "file" / "MEMORY.md"), "x") == "save_failed"


def test_a_writer_that_does_not_end_is_reported(memory, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr("oneclaw_memory.file._LOCK_SECONDS", 0.05)
    memory.create()
    with FileLock(f"{memory.path}.lock"):
        assert error_of(memory, "x") == "save_failed"
    assert memory.change("x").done == "added"


@pytest.mark.long
@pytest.mark.one_python
def test_processes_and_threads_that_save_at_once_lose_nothing(memory):
    memory.create()
    program = [sys.executable, "-c", WRITER, str(memory.path)]
    processes = [subprocess.Popen([*program, name, "8"]) for name in ("one", "two", "three")]
    threads = [
        threading.Thread(target=memory.change, args=(f"fact {number} of a thread", "interests")) for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    text = memory.read()
    facts = [*section_of(text, "Notes").entries, *section_of(text, "Projects").entries]
    assert sorted(facts) == sorted(f"fact {n} of writer {name}" for n in range(8) for name in ("one", "two", "three"))
    assert len(section_of(text, "Interests").entries) == 8
    assert [each.name for each in memory.path.parent.iterdir() if each.suffix == ".tmp"] == []
