"""The plugin shell."""

import oneclaw_shell


def test_plugin_can_be_imported():
    assert oneclaw_shell.__doc__
