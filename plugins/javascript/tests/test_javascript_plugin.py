"""The plugin javascript."""

import oneclaw_javascript


def test_plugin_can_be_imported():
    assert oneclaw_javascript.__doc__
