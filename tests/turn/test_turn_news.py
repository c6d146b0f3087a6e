"""News for a model whose lists have changed since the conversation began."""

from oneclaw_core.prompts.kept import news_of

GROUPS = "## Available Tool Groups\n- pdf: Reads PDFs.\n- mail: Sends mail."
BEGINNING = "This has changed since the conversation began."


def test_lists_that_are_the_same_are_no_news():
    assert news_of({"groups": GROUPS}, {"groups": GROUPS}) == ""
    assert news_of({}, {"groups": ""}) == ""


def test_entries_that_came_or_went_are_named():
    now = GROUPS.replace("- mail: Sends mail.", "- maps: Finds ways: on foot.")
    assert news_of({"groups": GROUPS}, {"groups": now}) == (
        f"{BEGINNING}\n\nNew in Available Tool Groups:\n- maps: Finds ways: on foot.\n\n"
        "No longer in Available Tool Groups: mail"
    )


def test_an_entry_with_other_words_is_new_and_not_gone():
    now = GROUPS.replace("Sends mail.", "Sends and reads mail.")
    assert news_of({"groups": GROUPS}, {"groups": now}) == (
        f"{BEGINNING}\n\nNew in Available Tool Groups:\n- mail: Sends and reads mail."
    )


def test_a_list_that_came_is_told_as_a_whole_and_one_that_went_by_its_title():
    assert news_of({}, {"groups": GROUPS}) == f"{BEGINNING}\n\n{GROUPS}"
    gone = f"{BEGINNING}\n\nThere is no longer: Available Tool Groups"
    assert news_of({"groups": GROUPS}, {}) == gone
    assert news_of({"groups": GROUPS}, {"groups": ""}) == gone


def test_a_text_that_is_no_list_is_told_anew():
    assert news_of({"about": "## About\nOld."}, {"about": "## About\nNew."}) == f"{BEGINNING}\n\n## About\nNew."
