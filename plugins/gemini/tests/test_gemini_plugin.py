"""The plugin gemini."""

import oneclaw_gemini


def test_plugin_can_be_imported():
    assert oneclaw_gemini.__doc__
