"""Ids out of what people copy from the address bar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.answers import file_id
from oneclaw_google_workspace.failures import GoogleError

IDS = st.text("abcXYZ019_-", min_size=2, max_size=44)


@given(IDS)
def test_an_id_is_found_in_every_kind_of_link(wanted):
    for text in (
        "{}",
        " {}\n",
        "https://docs.google.com/spreadsheets/d/{}/edit#gid=0",
        "https://docs.google.com/document/u/1/d/{}/edit?tab=t.0",
        "https://drive.google.com/file/d/{}/view?usp=sharing",
        "https://drive.google.com/drive/u/0/folders/{}?usp=drive_link",
        "https://drive.google.com/open?authuser=0&id={}",
    ):
        assert file_id(text.format(wanted), "file_id") == wanted


@pytest.mark.parametrize(
    "text", ["", " ", "two words", "https://example.com/", "https://docs.google.com/forms/d/e/1FAIpQL/viewform", "a/b"]
)
def test_what_holds_no_id_is_refused(text):
    with pytest.raises(GoogleError, match="form_id must be an id, or a link"):
        file_id(text, "form_id")
