"""The plugin openai."""

import oneclaw_openai


def test_plugin_can_be_imported():
    assert oneclaw_openai.__doc__
