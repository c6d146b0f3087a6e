"""The tools for model services."""

import pytest
from model_server import ModelServer, text

from oneclaw_core.config.keys import KeyStore
from oneclaw_core.errors import SettingsError
from oneclaw_core.system.home import Home

LAB = {"name": "My Lab", "type": "openai_compatible", "api_base_url": "http://127.0.0.1:9/v1"}


def test_a_provider_is_created_changed_and_deleted(talk):
    created, listed, changed, again, deleted, after = talk(
        ("create_provider", LAB),
        ("list_providers", {}),
        ("update_provider", {"provider_id": "my-lab", "name": "The Lab", "api_base_url": "http://127.0.0.1:8/v1"}),
        ("update_provider", {"provider_id": "my-lab", "name": "The Lab"}),
        ("delete_provider", {"provider_id": "my-lab"}),
        ("list_providers", {}),
    )

    assert "its id is my-lab" in created.result
    assert "oneclaw keys set my-lab" in created.result
    assert "- my-lab (My Lab), type openai_compatible, at http://127.0.0.1:9/v1, active, added by the user, no key" in (
        listed.result
    )
    assert "name: My Lab -> The Lab" in changed.result
    assert "base URL: http://127.0.0.1:9/v1 -> http://127.0.0.1:8/v1" in changed.result
    assert again.result == "Nothing to change: provider my-lab is as it was."
    assert deleted.result == "Provider my-lab is removed."
    assert "my-lab" not in after.result
    assert [permission for permission, _ in talk.asked] == ["config.write"] * 3
    assert talk.asked[0][1] == ("add the provider my-lab (openai_compatible) at http://127.0.0.1:9/v1, no key is sent")
    assert talk.asked[1][1].endswith("-> http://127.0.0.1:8/v1, no key is sent")


def test_nothing_is_changed_where_the_user_says_no(denied_talk):
    created, listed, set_to, state = denied_talk(
        ("create_provider", LAB),
        ("list_providers", {}),
        ("set_config", {"key": "turn_max_tool_rounds", "value": "3"}),
        ("get_config", {"key": "turn_max_tool_rounds"}),
    )

    assert (created.error_type, set_to.error_type) == ("permission_denied", "permission_denied")
    assert "my-lab" not in listed.result
    assert state.result.startswith("turn_max_tool_rounds is 200 (source: default")


@pytest.mark.parametrize(
    ("arguments", "error_type", "message"),
    [
        ({**LAB, "name": " "}, "validation_error", "Name must not be empty"),
        ({**LAB, "type": "telepathy"}, "validation_error", "there are"),
        ({**LAB, "api_base_url": "file:///etc"}, "validation_error", "https://host/v1"),
        ({**LAB, "api_base_url": "http://me:secret@host/"}, "validation_error", "no user or password"),
        ({**LAB, "name": "OpenAI"}, "creation_failed", "known from the start"),
    ],
)
def test_what_is_no_provider_is_refused_without_a_question(talk, arguments, error_type, message):
    (refused,) = talk(("create_provider", arguments))

    assert refused.error_type == error_type
    assert message in refused.error_message
    assert "secret" not in refused.error_message
    assert talk.asked == []


def test_the_original_spelling_of_types_is_understood(talk):
    (created,) = talk(("create_provider", {**LAB, "type": "OPENAI"}))

    assert created.is_success


@pytest.mark.long
def test_a_provider_that_something_needs_stays(talk):
    *_, deleted, deactivated = talk(
        ("create_provider", LAB),
        ("add_model", {"provider_id": "my-lab", "model_id": "small"}),
        ("set_default_model", {"provider_id": "my-lab", "model_id": "small"}),
        ("delete_provider", {"provider_id": "my-lab"}),
        ("update_provider", {"provider_id": "my-lab", "is_active": False}),
    )

    assert (deleted.error_type, deactivated.error_type) == ("deletion_failed", "update_failed")
    assert "my-lab/small" in deleted.error_message


def test_a_built_in_provider_can_be_deactivated_and_nothing_else(talk):
    deleted, moved, off, listed, on, unknown = talk(
        ("delete_provider", {"provider_id": "openai"}),
        ("update_provider", {"provider_id": "openai", "api_base_url": "http://127.0.0.1:9"}),
        ("update_provider", {"provider_id": "openai", "is_active": False}),
        ("list_providers", {}),
        ("update_provider", {"provider_id": "openai", "is_active": True}),
        ("update_provider", {"provider_id": "nobody", "is_active": True}),
    )

    assert (deleted.error_type, moved.error_type, unknown.error_type) == (
        "permission_denied",
        "permission_denied",
        "not_found",
    )
    assert off.result == "Provider openai is changed: active: True -> False."
    assert "- openai, type openai, at its type's own address, not active" in listed.result
    assert on.is_success


def test_a_stored_key_is_never_shown(talk, home):
    secret = "sk-never-shown-to-anybody-12345"
    talk.environ = {"OPENAI_API_KEY": secret, "MY_LAB_API_KEY": secret}

    results = talk(
        ("create_provider", LAB), ("list_providers", {}), ("update_provider", {"provider_id": "my-lab", "name": "X"})
    )

    assert secret not in str(results) + str(talk.asked)
    assert "MY_LAB_API_KEY is not used for an address that a tool set" in results[0].result
    assert "added by the user, no key" in results[1].result


@pytest.mark.long
def test_no_key_of_the_environment_is_sent_to_an_address_that_a_tool_chose(talk):
    talk.environ = {"MY_LAB_API_KEY": "sk-of-the-environment-0123456789"}

    with ModelServer([text("Hello")] * 2) as server:
        for calls in (
            [("create_provider", {**LAB, "api_base_url": server.url})],
            [("update_provider", {"provider_id": "my-lab", "api_base_url": f"{server.url}/"})],
        ):
            talk(*calls)
            talk.say("my-lab/m")

    assert [request.headers.get("authorization") for request in server.requests] == [None, None]


def test_a_stored_key_stays_with_its_server_when_a_tool_moves_the_provider(talk, home):
    keys = KeyStore(Home(home, ""), {})
    with ModelServer([text("Hello")]) as server, ModelServer([]) as other:
        keys.set("my-lab", "sk-stored-0123456789", in_file=True, place=server.url.removesuffix("/v1"))
        talk(("create_provider", {**LAB, "api_base_url": server.url}))
        talk.say("my-lab/m")
        talk(("update_provider", {"provider_id": "my-lab", "api_base_url": other.url}))
        with pytest.raises(SettingsError, match=r"so the key is not sent: .* oneclaw keys set my-lab"):
            talk.say("my-lab/m")

    assert [request.headers.get("authorization") for request in server.requests] == ["Bearer sk-stored-0123456789"]
    assert other.requests == []
    assert talk.asked[0][1].endswith("which will be sent the key that is stored for it")
    assert talk.asked[1][1].endswith("no key is sent")
