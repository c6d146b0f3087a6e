"""The plugin web."""

import oneclaw_web


def test_plugin_can_be_imported():
    assert oneclaw_web.__doc__
