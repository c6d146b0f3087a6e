"""JavaScript that offline/rules finds in a message."""

import pytest

from oneclaw_core.providers.offline.programs import code_in


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Calculate 6*7 with JavaScript", "6*7"),
        ("please evaluate [3,1,2].sort() in js.", "[3,1,2].sort()"),
        ("Run this:\n```js\nconst a = 2;\na * 4\n```\nThanks", "const a = 2;\na * 4"),
        ("```\n1\n```", "1"),
        ("Calculate the sum of 1 and 2 with JavaScript", None),
        ("Evaluate `6*7` in JavaScript", None),
        ("Evaluate in JavaScript: 6*7", None),
        ("What is JavaScript?", None),
        ("``` ```", None),
        ("```js\n\n```", None),
    ],
)
def test_code_is_found_where_it_stands_alone(message, code):
    assert code_in(message) == code


def test_a_hostile_message_takes_no_time():
    for message in (
        "run " * 50_000,
        "```" * 50_000,
        "```js\n" * 20_000,
        "run " + " in" * 50_000,
        "run x" + " " * 100_000,
    ):
        assert code_in(message) is None
