"""Settings of the plugin."""

from __future__ import annotations

from pydantic import BaseModel, Field, SecretStr


class MailSettings(BaseModel):
    """The server that mail is sent by."""

    mail_server: str = Field(
        "",
        description="the server that sends mail, as HOST or HOST:PORT; port 465 uses TLS, others STARTTLS",
        json_schema_extra={"user_only": True},  # the password is sent there
    )
    mail_user: str = Field("", description="the name at the server; empty for none")
    mail_password: SecretStr = Field(SecretStr(""), description="the password at the server")
    mail_address: str = Field(
        "",
        description="the address that mail comes from, and the default recipient",
        json_schema_extra={"user_only": True},
    )
