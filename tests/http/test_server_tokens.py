"""Tokens of servers."""

from __future__ import annotations

import asyncio
import json

import pytest

from oneclaw_core.errors import DuplicateError, NotFoundError, UsageError
from oneclaw_core.http import ServerTokens


class Storage(dict):
    """A storage in memory."""

    async def get(self, key, default=None):
        return json.loads(dict.get(self, key, json.dumps(default)))

    async def set_if_absent(self, key, value, *, ttl_seconds=None):
        return key not in self and not self.update({key: json.dumps(value)})

    async def delete(self, key):
        return self.pop(key, None) is not None

    async def list(self, prefix=""):
        return {key: json.loads(value) for key, value in sorted(self.items()) if key.startswith(prefix)}


def test_token_is_found_until_it_is_revoked():
    async def use():
        storage = Storage()
        tokens = ServerTokens(storage)
        token = await tokens.create("laptop", ["mcp.read", "group:pdf", "mcp.read"], lifetime_days=30)
        assert token.startswith("oneclaw_laptop_")
        assert token.removeprefix("oneclaw_laptop_") not in str(storage)
        found = await tokens.find(token)
        assert found.scopes == ("group:pdf", "mcp.read")
        assert (found.expires_at - found.created_at).days == 30
        assert found.allows("mcp.read")
        assert found.allows("mcp.read:anything")
        assert found.allows("group:pdf")
        assert not found.allows("group:mail")
        assert not found.allows("group")
        assert await tokens.list() == [found]
        with pytest.raises(DuplicateError, match="revoke it first"):
            await tokens.create("laptop", ["mcp.read"])
        await tokens.revoke("laptop")
        assert await tokens.find(token) is None
        with pytest.raises(NotFoundError, match="no token 'laptop'"):
            await tokens.revoke("laptop")

    asyncio.run(use())


def test_wrong_tokens_are_refused():
    async def use():
        tokens = ServerTokens(Storage())
        token = await tokens.create("a", ["x"])
        other = await tokens.create("b", ["y"])
        wrong = [None, "", "a", token[:-1], f"{token}x", token.replace("_a_", "_b_"), token.upper(), "é", "x" * 1_000]
        wrong += [f"oneclaw__{token}", "oneclaw_a_", f"other_{token.partition('_')[2]}"]
        assert [await tokens.find(each) for each in wrong] == [None] * len(wrong)
        assert (await tokens.find(other)).name == "b"

    asyncio.run(use())


@pytest.mark.parametrize(
    ("name", "scopes", "days"),
    [
        ("A", ["x"], None),
        ("", ["x"], None),
        ("a_b", ["x"], None),
        ("a" * 64, ["x"], None),
        ("a", [], None),
        ("a", ["X"], None),
        ("a", ["x y"], None),
        ("a", ["x"], 0),
        ("a", ["x"], float("nan")),
        ("a", ["x"], 10_000),
    ],
)
def test_invalid_tokens_cannot_be_made(name, scopes, days):
    with pytest.raises(UsageError):
        asyncio.run(ServerTokens(Storage()).create(name, scopes, lifetime_days=days))
