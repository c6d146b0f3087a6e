"""Settings of the plugin."""

from __future__ import annotations

from pydantic import BaseModel, Field, SecretStr


class MailboxSettings(BaseModel):
    """The server that is asked for new mail."""

    mail_server: str = Field(
        "",
        description="the IMAP server to check for new mail, as HOST or HOST:PORT; port 993 uses TLS, others STARTTLS",
        json_schema_extra={"user_only": True},  # the password is sent there
    )
    mail_user: str = Field("", description="the name at the server")
    mail_password: SecretStr = Field(SecretStr(""), description="the password at the server")
