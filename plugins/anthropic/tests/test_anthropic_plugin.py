"""The plugin anthropic."""

import oneclaw_anthropic


def test_plugin_can_be_imported():
    assert oneclaw_anthropic.__doc__
