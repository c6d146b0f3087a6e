"""The plugin memory."""

import oneclaw_memory


def test_plugin_can_be_imported():
    assert oneclaw_memory.__doc__
