"""Settings of the plugin."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, SecretStr

Backend = Literal["ddgs", "searxng", "brave", "tavily", "openai", "anthropic", "gemini"]


class SearchSettings(BaseModel):
    """The service that searches the web."""

    backend: Backend = Field(
        "ddgs",
        description="the service that searches: ddgs, searxng, brave, tavily, openai, anthropic or gemini",
        json_schema_extra={"setup": True},
    )
    url: str = Field(
        "",
        description="the address of a SearXNG instance, or another address of a service with a key",
        json_schema_extra={"user_only": True, "setup": {"backend": ["searxng"]}},  # the key is sent there
    )
    api_key: SecretStr = Field(
        SecretStr(""),
        description="of the service, for all but ddgs and searxng",
        json_schema_extra={"setup": {"backend": ["brave", "tavily", "openai", "anthropic", "gemini"]}},
    )
    model: str = Field(
        "",
        description="a model that can search the web, for openai, anthropic or gemini",
        json_schema_extra={"setup": {"backend": ["openai", "anthropic", "gemini"]}},
    )
    engines: str = Field("auto", description="the search engines that ddgs asks, such as duckduckgo,brave")
    region: str = Field("", description="the country and language of results, such as us-en or de-de")
