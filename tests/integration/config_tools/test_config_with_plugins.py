"""The tools for agents and settings, where other plugins bring what they name."""

POET = ("create_agent", {"name": "Poet", "system_prompt": "You write poems. " * 20})


def test_an_agent_is_listed_changed_and_deleted(talk):
    _, listed, changed, preferred, cleared, deleted, after = talk(
        POET,
        ("list_agents", {}),
        ("update_agent", {"agent_id": "poet", "name": "Bard", "description": "Sings"}),
        ("update_agent", {"agent_id": "Bard", "preferred_provider_id": "offline", "preferred_model_id": "rules"}),
        ("update_agent", {"agent_id": "Bard", "preferred_provider_id": "", "preferred_model_id": ""}),
        ("delete_agent", {"agent_id": "Bard"}),
        ("list_agents", {}),
    )

    assert "General Assistant (id" in listed.result
    assert "built in" in listed.result
    assert "You write poems." in listed.result
    assert "..." in listed.result
    assert changed.result == "Agent 'Bard' is changed: name, description."
    assert preferred.result == "Agent 'Bard' is changed: model."
    assert cleared.result == "Agent 'Bard' is changed: model."
    assert deleted.result == "Agent 'Bard' is deleted."
    assert "Bard" not in after.result
    assert ("config.write", "change the agent 'Poet': name: 'Poet' -> 'Bard'; description: '' -> 'Sings'") in talk.asked


def test_a_provider_that_an_agent_prefers_stays(talk):
    *_, refused = talk(
        POET,
        ("update_agent", {"agent_id": "Poet", "preferred_provider_id": "ollama", "preferred_model_id": "any"}),
        ("update_provider", {"provider_id": "ollama", "is_active": False}),
    )

    assert refused.error_type == "update_failed"
    assert "'Poet'" in refused.error_message


def test_what_gives_code_all_rights_is_set_by_the_user_alone(talk):
    (refused,) = talk(("set_config", {"key": "user_tools_python", "value": "true"}))

    assert refused.error_type == "permission_denied"
    assert "oneclaw config set user_tools_python" in refused.error_message
    assert talk.asked == []
