"""Settings of the plugin."""

from __future__ import annotations

from pydantic import BaseModel, Field


class McpSettings(BaseModel):
    """The gateway for MCP clients in ``oneclaw serve``."""

    gateway_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="the port of this machine at which MCP clients reach the tools in oneclaw serve; 0 for none",
        json_schema_extra={"user_only": True},
    )
    gateway_agent: str = Field(
        "", description="the agent whose tools they see; empty for all tools", json_schema_extra={"user_only": True}
    )
    gateway_read_only: bool = Field(
        False, description="let them call only tools that change nothing", json_schema_extra={"user_only": True}
    )
    gateway_origins: tuple[str, ...] = Field(
        (),
        description="the addresses of a TLS proxy in front of it, such as https://tools.example",
        json_schema_extra={"user_only": True},
    )
