"""Records of what a call has read and written, and the requests that need the user's consent."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from oneclaw_core.files import PathGuard
from oneclaw_core.permissions.call_network import plain_headers, request_in_words
from oneclaw_core.provenance import marks as provenance
from oneclaw_core.provenance.marks import CallOrigins, CallProvenance, asks_again
from oneclaw_core.system.version import USER_AGENT
from oneclaw_core.types.provenance import Mark, MarkKind, Provenance, UsedFile

OUTSIDE, PRIVATE = Mark.of(MarkKind.OUTSIDE, "the mail"), Mark.of(MarkKind.PRIVATE, "the calendar")


class Records:
    """A store of where text comes from."""

    def __init__(self, **messages):
        self.messages, self.asked, self.files, self.written = messages, [], {}, []

    async def link_sources(self, session_id, after):
        self.asked.append((session_id, after))
        return [each for each in self.messages.get(session_id, ()) if each[0] > after]

    async def file_marks(self, states):
        return [self.files.get(each.path, ((), False)) for each in states]

    async def record_written(self, files, marks, ended_ns):
        self.written.append((list(files), list(marks)))


@pytest.fixture
def guard(tmp_path):
    for name in ("workspace", "start"):
        (tmp_path / name).mkdir()
    return PathGuard(tmp_path / "workspace", tmp_path / "start", used=[])


def conversation(*marks):
    found = Provenance()
    found.add(list(marks))
    return found


def call(guard, *marks, session="s1", turn=None, origins=None, records=None, **options):
    scope = SimpleNamespace(conversation=conversation(*marks), session_id=session, turn=turn, session_of_user=session)
    return CallProvenance(origins or CallOrigins(guard, records), scope, [], guard, **options)


def finished(made):
    asyncio.run(made.finish())
    return made.of_result


def asks(made, method="GET", url="https://a.example/x", headers=None, *, has_body=False, is_followed=False):
    return asyncio.run(made.needs_question(method, url, headers or {}, has_body=has_body, is_followed=is_followed))


def test_only_with_text_from_outside_and_private_data_a_request_is_asked_about(guard):
    for marks, asked in (((), False), ((OUTSIDE,), False), ((PRIVATE,), False), ((OUTSIDE, PRIVATE), True)):
        assert asks(call(guard, *marks)) is asked
        assert asks(call(guard, *marks), "POST", has_body=True) is asked


def test_what_carries_no_data_is_free(guard):
    records = Records(s1=[(1, "see https://a.example/x", None)])

    def made():
        return call(guard, OUTSIDE, PRIVATE, records=records)

    for request, asked in (
        ({}, False),
        ({"method": "HEAD"}, False),
        ({"method": "POST"}, True),
        ({"method": "DELETE"}, True),
        ({"has_body": True}, True),
        ({"url": "https://a.example/y"}, True),
        ({"url": "https://a.example/y", "is_followed": True}, False),
        ({"url": "ftp://a.example"}, True),
        ({"method": "POST", "is_followed": True}, True),
        ({"headers": {"accept": "text/html"}}, False),
        ({"headers": {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}, False),
        ({"headers": {"accept": "*/*;q=0.8"}}, True),
        ({"headers": {"accept": "*/*, */*, text/html, */*"}}, True),
        ({"headers": {"accept": "text/secret"}}, True),
        ({"headers": {"accept-encoding": "gzip, deflate, br"}}, False),
        ({"headers": {"accept-encoding": "br, gzip, br, gzip"}}, True),
        ({"headers": {"accept-language": "en-US,en;q=0.5"}}, False),
        ({"headers": {"accept-language": "zz-ZZ"}}, True),
        ({"headers": {"connection": "keep-alive"}}, False),
        ({"headers": {"connection": "open"}}, True),
        ({"headers": {"content-length": "0", "host": "a.example"}}, False),
        ({"headers": {"content-length": "1"}}, True),
        ({"headers": {"user-agent": USER_AGENT}}, False),
        ({"headers": {"user-agent": "oneclaw/hunter2-correct-horse"}}, True),
        ({"headers": {"x-data": "1"}}, True),
        ({"headers": plain_headers(httpx.Headers([("Accept", "*/*"), ("user-agent", USER_AGENT)]))}, False),
        ({"headers": plain_headers(httpx.Headers([("aCcEPt", "*/*")]))}, True),  # each letter carries a bit
        ({"headers": plain_headers(httpx.Headers([("Accept", "*/*"), ("accept", "text/html")]))}, True),
    ):
        assert asks(made(), **request) is asked, request


def test_links_are_followed_where_they_stand(guard):
    page = (2, '<a href="/page">', "https://p.example/")
    records = Records(s1=[(1, "see https://user.example/u", None)], outer=[page])
    outer_call = SimpleNamespace(session_id="outer", turn=None)
    turn = SimpleNamespace(call=outer_call)
    for url, options, is_free in (
        ("https://user.example/u", {}, True),
        ("https://p.example/page", {}, False),
        ("https://p.example/page", {"turn": turn}, True),
        ("https://p.example/", {"turn": turn}, True),
        ("https://typed.example/t", {"typed": "fetch https://typed.example/t"}, True),
        ("https://typed.example/t", {}, False),
        ("https://user.example/u", {"session": None}, False),
    ):
        made = call(guard, OUTSIDE, PRIVATE, records=records, **options)
        assert asks(made, url=url) is not is_free, (url, options)
    assert asks(call(guard, OUTSIDE, PRIVATE), url="https://user.example/u")


def test_after_a_number_of_links_each_is_asked_about(guard):
    async def limit():
        return 2

    records = Records(s1=[(1, "read https://a.example/x", None)], s2=[(1, "https://a.example/x", None)])
    origins = CallOrigins(guard, records, free_requests=limit)

    def asked(session, url="https://a.example/x"):
        return asks(call(guard, OUTSIDE, PRIVATE, session=session, origins=origins), url=url)

    assert [asked("s1"), asked("s1", "https://b.example"), asked("s1"), asked("s1")] == [False, True, False, True]
    assert asked("s2") is False


def test_each_message_is_read_once_and_few_sessions_are_remembered(guard, monkeypatch):
    monkeypatch.setattr(provenance, "_MAX_SESSIONS", 2)

    async def work():
        records = Records(a=[(3, "https://one.example/x", None)])
        links = CallOrigins(guard, records)
        assert await links.links_of("a") == {"https://one.example/x"}
        records.messages["a"].append((5, "https://two.example/x", None))
        assert await links.links_of("a") == {"https://one.example/x", "https://two.example/x"}
        await links.links_of("b")
        await links.links_of("a")
        await links.links_of("c")
        await links.links_of("a")
        await links.links_of("b")
        assert records.asked == [("a", 0), ("a", 3), ("b", 0), ("a", 5), ("c", 0), ("a", 5), ("b", 0)]

    asyncio.run(work())


def test_files_of_the_user_are_private_and_others_from_outside_too(guard, tmp_path):
    paths = [guard.workspace / "own", guard.start_directory / "found", tmp_path / "elsewhere"]
    for each in paths:
        each.write_text("x")
    gone = guard.workspace / "gone"

    def marks(records=None, project=None, **options):
        found = asyncio.run(CallOrigins(guard, records, project).marks_of_files([*paths, gone], guard, **options))
        return [(each.kind.value, each.origin) for each in found]

    own, found, elsewhere = "the file own", "the file found", f"the file {tmp_path / 'elsewhere'}"
    everything = [
        *(("private", own), ("private", found), ("outside", found), ("private", elsewhere), ("outside", elsewhere)),
    ]
    assert marks() == marks(Records()) == everything
    untrusted = SimpleNamespace(is_trusted=False, path=str(guard.start_directory))
    assert marks(None, untrusted) == everything
    trusted = SimpleNamespace(is_trusted=True, path=str(guard.start_directory))
    assert marks(None, trusted) == [each for each in everything if each != ("outside", found)]
    assert marks(said="the attached file")[0] == ("private", "the attached file own")
    records = Records()
    records.files = {str(paths[0]): ((OUTSIDE,), True), str(paths[1]): ((PRIVATE,), False)}
    known = marks(records)
    assert known[0] == ("outside", "the mail")
    assert ("private", own) not in known
    assert known[-4:] == everything[1:]
    assert len(known) == 6


def test_of_many_files_the_first_are_named(guard, monkeypatch):
    monkeypatch.setattr(provenance, "MAX_ORIGINS", 2)
    paths = [guard.workspace / str(number) for number in range(4)]
    for each in paths:
        each.write_text("x")
    found = asyncio.run(CallOrigins(guard).marks_of_files(paths, guard))
    assert [each.origin for each in found] == ["the file 0", "the file 1", "other files"]


def test_what_a_call_writes_is_noted_with_what_the_conversation_holds(guard, monkeypatch):
    path = guard.workspace / "a"
    path.write_text("x")
    read, wrote = UsedFile(path, "read", 1), UsedFile(guard.workspace / "b", "write", 2)
    ran = UsedFile(guard.workspace, "run", 3)
    for used, marks, written in (
        ([read], (), []),
        ([wrote], (), []),
        ([wrote, ran], (OUTSIDE,), [([wrote, ran], [OUTSIDE])]),
        ([read, wrote], (), [([wrote], [Mark.of(MarkKind.PRIVATE, "the file a")])]),
    ):
        records = Records()
        made = call(replace(guard, used=list(used)), *marks, records=records)
        asyncio.run(made.finish())
        assert records.written == written
    assert finished(call(replace(guard, used=[wrote]), OUTSIDE)) == ()
    made = call(replace(guard, used=[read]))
    assert [each.origin for each in finished(made)] == ["the file a"]
    assert made.caller.conversation.private
    asyncio.run(made.settle())
    assert [each.origin for each in made.marks] == ["the file a"]
    records = Records()
    answered = call(replace(guard, used=[wrote]), records=records)
    answered.marks.append(Mark(MarkKind.USER, ""))
    assert finished(answered) == (Mark(MarkKind.USER, ""),)
    assert records.written == []
    monkeypatch.setattr(provenance, "_MAX_MARKS", 2)
    many = call(guard)
    many.marks += [Mark.of(kind, str(number)) for number in range(3) for kind in (MarkKind.OUTSIDE, MarkKind.PRIVATE)]
    kept = finished(many)
    assert [(each.kind.value, each.origin) for each in kept] == [
        *(("outside", "0"), ("outside", "1"), ("private", "0"), ("private", "1")),
    ]


def test_what_is_kept_or_leaves_is_asked_again():
    both, outside = conversation(OUTSIDE, PRIVATE), conversation(OUTSIDE)
    for permission, with_outside, with_both in (
        ("agents.create", True, True),
        ("config.write", True, True),
        ("memory.write", True, True),
        ("tasks.write", True, True),
        ("tools.write", True, True),
        ("files.read", False, False),
        ("files.write", False, False),
        ("network.private", False, False),
        ("network.public", False, False),
        ("mail.read", False, False),
        ("mail.organize", False, False),
        ("mail.send", False, True),
        ("mcp.files.read", False, True),
        ("read", False, False),
        ("shell.execute", False, True),
    ):
        assert asks_again(permission, outside) is with_outside, permission
        assert asks_again(permission, both) is with_both, permission
        assert asks_again(permission, conversation()) is asks_again(permission, conversation(PRIVATE)) is False


def test_a_request_is_put_into_words():
    text = "send a POST request to https://a.example"
    for body, words in (
        (None, text),
        (b"", text),
        ("é".encode(), f"{text} with 2 bytes:\né"),
        (b"\xff", f"{text} with 1 bytes:\n\ufffd"),
        (b"x" * 4000, f"{text} with 4,000 bytes:\n{'x' * 4000}"),
        (b"x" * 5234, f"{text} with 5,234 bytes:\n{'x' * 4000}\n[… 1,234 more bytes]"),
    ):
        assert request_in_words("POST", "https://a.example", body) == words
