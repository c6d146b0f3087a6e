"""Settings of the server."""

from __future__ import annotations

import ipaddress
import re

from pydantic import BaseModel, Field, field_validator

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")


class ServeSettings(BaseModel):
    """The web page and the HTTP API."""

    public_hosts: tuple[str, ...] = Field(
        (),
        description="the names under which a TLS proxy publishes the server, such as claw.example.org",
        json_schema_extra={"user_only": True},
    )
    proxies: tuple[str, ...] = Field(
        (),
        description="the IP addresses of that proxy; others may not connect from outside this machine",
        json_schema_extra={"user_only": True},
    )

    shows_link: bool = Field(
        True,
        description="print a link that logs one browser in when the server starts; turn it off if logs are stored",
        json_schema_extra={"user_only": True},
    )

    stateless_session_days: float = Field(
        30,
        ge=0,
        description="delete sessions of requests to /v1 that name no session, this many days after their last use; "
        "0 keeps them",
    )

    @field_validator("public_hosts")
    @classmethod
    def _check_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(f"{host!r} is not a host name, such as claw.example.org")
        return hosts

    @field_validator("proxies")
    @classmethod
    def _check_proxies(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for each in proxies:
            ipaddress.ip_address(each)
        return proxies
