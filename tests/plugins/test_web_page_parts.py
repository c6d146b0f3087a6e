"""Parts of the pages of plugins."""

from oneclaw_core.plugins import WebForm


def test_a_form_without_fields_is_a_button_that_sends_nothing_else():
    button = WebForm(submit="Delete", is_destructive=True)
    assert (button.fields, button.values, button.hidden) == ({}, {}, {})
    assert (button.about, button.title) == ("", "")
    assert not WebForm(submit="Save").is_destructive
