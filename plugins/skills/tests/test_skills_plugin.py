"""The plugin skills."""

import oneclaw_skills


def test_plugin_can_be_imported():
    assert oneclaw_skills.__doc__
