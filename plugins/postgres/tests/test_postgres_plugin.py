"""The plugin postgres."""

import oneclaw_postgres


def test_plugin_can_be_imported():
    assert oneclaw_postgres.__doc__
