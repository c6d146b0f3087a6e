"""Addresses of services that users sign in to."""

from __future__ import annotations

import pytest

from oneclaw_core import SettingsError
from oneclaw_core.http import OAuthService


@pytest.mark.parametrize("place", ["authorization_endpoint", "token_endpoint", "revocation_endpoint"])
@pytest.mark.parametrize("before", ["accounts.google.com@", "ada:pass-word@", ":pass-word@", "@"])
def test_a_user_name_in_an_address_is_refused_and_not_shown(place, before):
    good = {"authorization_endpoint": "https://acme.example/a", "token_endpoint": "https://acme.example/t"}
    made = {**good, place: f"https://{before}acme.example/x"}
    with pytest.raises(SettingsError, match=r"https://acme\.example/x") as refused:
        OAuthService(name="acme", title="Acme", sign_in_command="sign in", client_id="me", **made)
    assert "pass-word" not in str(refused.value)
