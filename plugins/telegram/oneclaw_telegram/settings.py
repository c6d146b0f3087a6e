"""Settings of the plugin."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class TelegramSettings(BaseModel):
    """The bot and who may use it for what."""

    token: SecretStr = Field(SecretStr(""), description="of the bot, as @BotFather shows it")
    agents: str = Field(
        "",
        description="the only agents that can be chosen in Telegram, separated by commas, the first one by default",
        json_schema_extra={"user_only": True},
    )
    groups: str = Field(
        "",
        description="the ids of groups where the bot listens to paired people, separated by commas",
        json_schema_extra={"user_only": True},
    )
    api_root: str = Field(
        "https://api.telegram.org",
        description="the address of the Bot API, such as of a Bot API server of your own",
        json_schema_extra={"user_only": True},  # the token is sent there
    )
    webhook_url: str = Field(
        "",
        description="the public https address of /telegram/webhook; without it the bot asks for messages itself",
        json_schema_extra={"user_only": True},
    )

    @field_validator("api_root")
    @classmethod
    def _check_root(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme != "https" and (parts.scheme != "http" or parts.hostname not in _LOOPBACK):
            raise ValueError("must be an https address, since the bot's token is sent there")
        return value

    @field_validator("webhook_url")
    @classmethod
    def _check_webhook(cls, value: str) -> str:
        if value and not value.startswith("https://"):
            raise ValueError("must be an https address")
        return value

    def names(self, text: str) -> list[str]:
        """Read a list separated by commas."""
        return [each.strip() for each in text.split(",") if each.strip()]
