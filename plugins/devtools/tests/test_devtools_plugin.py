"""The plugin devtools."""

import oneclaw_devtools


def test_plugin_can_be_imported():
    assert oneclaw_devtools.__doc__
