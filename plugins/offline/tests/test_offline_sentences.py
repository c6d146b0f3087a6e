"""The share of sentences that ``offline/rules`` routes to the right groups and tool."""

import re

from offline_conversation import Conversation, calls_of
from offline_sentences import SENTENCES, Sentence
from offline_tools import GROUPS

LEAST_ROUTED = 0.9
LEAST_FILLED = 0.85


def outcome_of(sentence: Sentence) -> tuple[tuple[str, ...], str | None, tuple[dict, ...]]:
    loads, answer = Conversation(core=sentence.core, listed=sentence.listed, groups=GROUPS).say(sentence.text)
    calls = calls_of(answer)
    asked = re.match(r"To use `([\w-]+)` I need", answer.text)
    tool = "" if answer.text.startswith("Loaded ") else None
    if calls or asked:
        tool = calls[0][0] if calls else asked[1]
    return tuple(loads), tool, tuple(arguments for _, arguments in calls)


def test_nine_of_ten_sentences_reach_the_right_group_and_tool(record_property):
    outcomes = [(sentence, outcome_of(sentence)) for sentence in SENTENCES]
    lost = [(each.text, found) for each, found in outcomes if found[:2] != (each.groups, each.tool)]
    unfilled = [(each.text, found) for each, found in outcomes if found != (each.groups, each.tool, each.arguments)]
    routed, filled = (1 - len(missed) / len(SENTENCES) for missed in (lost, unfilled))
    record_property("offline_sentences_routed", round(routed, 3))
    record_property("offline_sentences_filled", round(filled, 3))

    assert routed >= LEAST_ROUTED, f"{routed:.1%} of {len(SENTENCES)} sentences are routed, not: {lost}"
    assert filled >= LEAST_FILLED, f"{filled:.1%} of {len(SENTENCES)} sentences have their arguments, not: {unfilled}"
