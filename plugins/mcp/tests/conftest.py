"""Fixtures of the tests of MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp_homes import McpHome

if TYPE_CHECKING:
    from pytest_oneclaw import HomeFactory


@pytest.fixture
def mcp_home(oneclaw_factory: HomeFactory) -> McpHome:
    """A home without servers, where no permission is granted."""
    return McpHome(oneclaw_factory(["mcp"]))
