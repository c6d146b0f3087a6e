"""The words of questions, as a terminal and a messenger show them."""

import itertools

from oneclaw_core.permissions.approval import ApprovalQuestion, Choice, question_text, user_question_text
from oneclaw_core.permissions.requests import PermissionAnswer
from oneclaw_core.types.permissions import Fact
from oneclaw_core.types.user_question import UserQuestion


def question(*facts, tool="send", permission="mail.send", meaning="", by=None, choices=()):
    found = tuple(Fact("kind", label, text) for label, text in facts)
    return ApprovalQuestion(tool, permission, meaning, by, found, choices)


def rows(asked, columns=80, limit=0):
    text = question_text if isinstance(asked, ApprovalQuestion) else user_question_text
    return text(asked, columns, limit).split("\n")


HEAD = "Tool send wants permission mail.send"


def test_the_heading_says_what_is_wanted_and_in_whose_words():
    for asked, heading in (
        (question(), HEAD),
        (question(meaning="send mail"), f"{HEAD}: send mail"),
        (question(meaning="send mail", by="acme"), f"{HEAD}, which means, says plugin acme: send mail"),
        (question(by="acme"), HEAD),
        (question(tool="a\r b\n  c", permission="x\x1b"), "Tool a b c wants permission x\\x1b"),
    ):
        assert rows(asked, 200) == [heading]
    limits = {"tool": 100, "permission": 100, "by": 100, "meaning": 120}
    for name, limit in limits.items():
        for length in (limit, limit + 1234):
            given = {"meaning": "m", "by": "b", name: "x" * length}
            note = "" if length == limit else " [… 1,234 more characters are not shown]"
            (row,) = rows(question(**given), 1000)
            assert f"{'x' * limit}{note}" in row
            assert ("more characters" in row) is bool(note)


def test_short_facts_stand_behind_their_label_and_others_below():
    bar = "    │ "
    for fact, shown in (
        (("subject", "ada"), ["  subject: ada"]),
        (("command", "ls"), ["  command:", f"{bar}ls"]),
        (("subject", "two\nlines"), ["  subject:", f"{bar}two", f"{bar}lines"]),
        (("subject", "one\n\ntwo"), ["  subject:", f"{bar}one", bar, f"{bar}two"]),
        (("subject", ""), ["  subject: "]),
        (("subject", "x" * 28), [f"  subject: {'x' * 28}"]),
        (("subject", "x" * 29), ["  subject:", f"{bar}{'x' * 29}"]),
        (("subject", "x" * 34), ["  subject:", f"{bar}{'x' * 33}", f"{bar}x"]),
    ):
        assert rows(question(fact), 40)[1 + (len(rows(question(), 40)) - 1) :] == shown


def test_a_narrow_screen_gets_rows_of_ten():
    for asked in (question(("x", "a" * 25)), UserQuestion("a" * 25)):
        found = rows(asked, 3)
        assert found[-3:] == ["    │ aaaaaaaaaa", "    │ aaaaaaaaaa", "    │ aaaaa"]
        assert all(len(row.removeprefix("    │ ")) <= 12 for row in found)


def test_invisible_characters_and_spaces_are_shown():
    for text, shown in (
        ("a\x1b[2J", "a\\x1b[2J"),
        ("a\u200bb\u3164c\u2800d", "a\\u200bb\\u3164c\\u2800d"),
        ("\u115f\u1160\uffa0\u2423", "\\u115f\\u1160\\uffa0\\u2423"),
        ("a b  c ", "a b␣␣c␣"),
        ("  a", "  a"),
        (" " * 8 + "a", " " * 8 + "a"),
        (" " * 9 + "a", "␣[9 spaces]␣a"),
        ("a" + " " * 8 + "b", "a␣␣␣␣␣␣␣␣b"),
        ("a" + " " * 1234 + "b", "a␣[1,234 spaces]␣b"),
    ):
        assert rows(question(("x", text)), 200)[1] == f"  x: {shown}"


def test_what_answers_grant_is_said_at_the_end():
    choices = (
        Choice(PermissionAnswer.ONCE),
        Choice(PermissionAnswer.SESSION, "mail.send"),
        Choice(PermissionAnswer.ALWAYS, "mail.send for the subject " + "x" * 100),
    )
    found = rows(question(("subject", "ada"), choices=choices), 60)
    assert found[:3] == [HEAD, "  subject: ada", "  session grants: mail.send"]
    assert found[3:] == [
        "  always grants:",
        f"    │ mail.send for the subject {'x' * 27}",
        f"    │ {'x' * 53}",
        f"    │ {'x' * 14} [… 6 more characters are not shown]",
    ]


def test_a_long_heading_goes_on_behind_a_bar():
    assert rows(question(meaning="send mail to people"), 40) == [
        HEAD.replace(" mail.send", ""),
        "    │ mail.send: send mail to people",
    ]


def test_a_tools_question_gives_no_permission():
    asked = UserQuestion("Which one?", ("red", "green"))
    heading = "The model asks you, and it gives no permission"
    assert rows(asked) == [heading, "  question: Which one?", "  1: red", "  2: green"]
    of_agent = UserQuestion("Which one?", sub_agent="Poet\n" + "x" * 96)
    (first, second) = rows(of_agent, 300)
    assert first == (
        f"The sub-agent Poet {'x' * 95} [… 1 more characters are not shown] asks you; it gives no permission"
    )
    assert second == "  question: Which one?"


def numbered(count):
    return "\n".join(str(number) for number in range(1, count + 1))


def test_what_has_no_room_is_left_out_in_the_middle():
    bar = "    │ "
    asked = question(("a", numbered(10)), ("b", "x\ny"), choices=(Choice(PermissionAnswer.SESSION, "mail.send"),))
    whole = [
        HEAD,
        "  a:",
        *(f"{bar}{each}" for each in range(1, 11)),
        "  b:",
        f"{bar}x",
        f"{bar}y",
        "  session grants: mail.send",
    ]
    assert rows(asked) == whole == rows(asked, limit=18)
    note = "  [… {} rows: d shows all …]"
    assert rows(asked, limit=17) == [
        *(HEAD, "  a:", *(f"{bar}{each}" for each in range(1, 5)), note.format(2)),
        *(*(f"{bar}{each}" for each in range(7, 11)), *whole[12:]),
    ]
    # Three rows of each text are the least.
    least = [HEAD, "  a:", f"{bar}1", note.format(8), f"{bar}10", "  b:", f"{bar}x", f"{bar}y", whole[-1]]
    assert rows(asked, limit=11) == least == rows(asked, limit=1)
    many = question(("a", numbered(5000)))
    assert note.format("4,998") in rows(many, limit=5)


def test_of_two_long_texts_each_gets_half_of_the_room():
    asked = UserQuestion(numbered(20), (numbered(30), "short"))
    found = rows(asked, limit=20)
    assert len(found) == 18
    places = [found.index(each) for each in ("  question:", "  1:", "  2: short")]
    assert [after - before - 1 for before, after in itertools.pairwise(places)] == [7, 7]
