"""The plugin offline."""

import oneclaw_offline


def test_plugin_can_be_imported():
    assert oneclaw_offline.__doc__
