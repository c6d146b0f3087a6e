"""The plugin browser."""

import oneclaw_browser


def test_plugin_can_be_imported():
    assert oneclaw_browser.__doc__
