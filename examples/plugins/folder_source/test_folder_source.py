"""The example as a user meets it."""

from pathlib import Path

import acme_folder_source
import pytest
from pytest_oneclaw import HomeFactory, HomeUnderTest


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "To do.txt").write_text("Water the plants.")
    return folder


@pytest.fixture
def home(oneclaw_factory: HomeFactory, notes: Path) -> HomeUnderTest:
    return oneclaw_factory([acme_folder_source], environ={"ONECLAW_ACME_FOLDER_SOURCE_FOLDER": str(notes)})


def test_each_file_is_a_tool(home: HomeUnderTest) -> None:
    assert home.call_tool("note_to_do").result == "Water the plants."


def test_the_model_loads_the_group(home: HomeUnderTest) -> None:
    home.model.calls("load_tool_group", group_name="notes").calls("note_to_do").then("The plants.")

    record = home.send("What is there to do?")

    assert record.loaded_groups == ("notes",)
    assert [each.result.result for each in record.tool_calls][-1] == "Water the plants."


def test_a_file_that_is_added_or_removed_counts_at_once(home: HomeUnderTest, notes: Path) -> None:
    assert home.call_tool("note_ideas").error_type == "not_found"

    (notes / "ideas.txt").write_text("A boat.")
    assert home.call_tool("note_ideas").result == "A boat."

    (notes / "ideas.txt").unlink()
    assert home.call_tool("note_ideas").error_type == "not_found"


def test_the_notes_of_the_last_time_are_listed_in_the_next(home: HomeUnderTest) -> None:
    home.call_tool("note_to_do")
    home.reopen()

    assert home.app.catalog.registry.get_tool_groups()["notes"] == ["note_to_do"]
