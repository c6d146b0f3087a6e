"""Promises about all tools that are made here, whatever they are called and whoever adds the next one."""

import re

_OF_OTHER_KINDS = {"page_token", "max_tokens"}


def test_no_tool_grants_permissions_trusts_a_project_or_takes_a_key(oneclaw_factory):
    registry = oneclaw_factory(None).app.catalog.registry
    names = registry.get_all_tool_names()
    assert len(names) > 100
    for name in names:
        definition = registry.get_definition(name)
        # Drive has its own permissions, which are those of files.
        assert not re.search(r"permission|trust|(?:^|_)keys?(?:_|$)", name) or name.startswith("drive_"), name
        parameters = set(definition.parameters.get("properties", {})) - _OF_OTHER_KINDS
        assert not any(re.search(r"api_?key|secret|token|password", each) for each in parameters) or name.startswith(
            "pdf_"  # of a document, which the user tells
        ), name
