"""save_memory, as the executor runs it in an open home."""

import asyncio
import json

import pytest
from pytest_oneclaw.chosen_plugins import chosen_plugins

from oneclaw_core import OneClaw


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def save(home, *calls, environ=None):
    async def run():
        plugins = chosen_plugins(["memory"])
        async with OneClaw.open(home, environ=environ or {}, start_directory=home.parent, plugins=plugins) as claw:
            return [(await claw.call_tool("save_memory", arguments)).result for arguments in calls]

    return asyncio.run(run())


def test_the_result_shows_the_section_as_it_is_now(home):
    first, second = save(
        home,
        {"content": "Likes tea", "category": "preferences"},
        {"content": "Likes cats", "category": "Preferences"},
    )
    assert first.result == "Saved. The section is now:\n\n## Preferences\n\n- Likes tea"
    assert second.result == "Saved. The section is now:\n\n## Preferences\n\n- Likes tea\n- Likes cats"


def test_without_a_category_it_is_a_bullet_among_the_notes(home):
    (result,) = save(home, {"content": "The garage code changes in May"})
    assert result.result.endswith("## Notes\n\n- The garage code changes in May")
    assert (home / "MEMORY.md").read_text().endswith("## Notes\n\n- The garage code changes in May\n")


def test_facts_are_corrected_and_forgotten(home):
    _, replaced, deleted = save(
        home,
        {"content": "Lives in Köln", "category": "profile"},
        {"content": "Lives in Bonn", "replaces": "Lives in Köln"},
        {"content": "", "replaces": "Lives in Bonn"},
    )
    assert replaced.result == "Replaced. The section is now:\n\n## User Profile\n\n- Lives in Bonn"
    assert deleted.result == "Forgotten. The section is now:\n\n## User Profile"


@pytest.mark.parametrize(
    ("arguments", "error_type"),
    [
        ({}, "validation_error"),
        ({"content": " "}, "validation_error"),
        ({"content": "x" * 5001}, "validation_error"),
        ({"content": 5}, "validation_error"),
        ({"content": "My key is sk-abcdefghijklmnopqrstuvwx"}, "validation_error"),
        ({"content": "Likes tea very much indeed"}, "duplicate_detected"),
        ({"content": "new", "replaces": "nowhere"}, "not_found"),
        ({"content": "new", "replaces": "tea"}, "ambiguous_match"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(home, arguments, error_type):
    *_, result = save(home, {"content": "- Likes tea very much indeed\n- Has tea at five"}, arguments)
    assert result.error_type == error_type
    assert (home / "MEMORY.md").read_text().count("- ") == 2


def test_keys_that_are_stored_or_in_the_environment_are_refused(home):
    home.mkdir(mode=0o700)
    keys = home / "keys.json"
    keys.touch(mode=0o600)
    keys.write_text(json.dumps({"keys": {"openai": {"key": "plainwords"}}}))
    results = save(
        home,
        {"content": "It is plainwords"},
        {"content": "It is otherwords"},
        {"content": "It is not a secret"},
        environ={"SOME_API_KEY": "otherwords"},
    )
    assert [each.error_type for each in results] == ["validation_error", "validation_error", None]
    assert "plainwords" not in results[0].error_message


def test_a_memory_that_cannot_be_written_is_a_failed_save(home):
    (home / "MEMORY.md").mkdir(parents=True)
    (result,) = save(home, {"content": "x"})
    assert result.error_type == "save_failed"
    assert "\n" not in result.error_message
