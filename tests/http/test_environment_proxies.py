import asyncio

import httpx
import pytest
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core.errors import SettingsError
from oneclaw_core.http.clients import create_client
from oneclaw_core.http.transports import EnvironmentProxies

VARIABLES = [name for kind in ("http", "https", "all", "no") for name in (f"{kind}_proxy", f"{kind}_proxy".upper())]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def get(url):
    async def main():
        async with create_client() as client:
            return (await client.get(url)).text

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:7890/"),  # GNOME and Ubuntu
        ("all_proxy", "socks5://127.0.0.1:7890"),
        ("HTTP_PROXY", "htp://user:password@127.0.0.1:9"),
        ("http_proxy", "http://[broken"),
        ("NO_PROXY", "localhost,127.0.0.1,::1,[::1]"),  # Docker sandboxes
        ("no_proxy", "localhost,fd07:b51a:cc66:f0::/64"),
        ("no_proxy", "[fd00::/8, :::, http://, *, ?"),
    ],
)
def test_a_proxy_setting_that_is_not_needed_has_no_effect(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with WebServer(lambda _: response("hello")) as server:
        assert get(server.url) == "hello"


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "socks://u:secret@127.0.0.1:9"), ("https_proxy", "htp://u:secret@127.0.0.1:9")]
)
def test_a_proxy_that_cannot_be_used_is_named_where_it_is_needed(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as raised:
        get("https://model.test/v1")
    assert str(raised.value).startswith(f"{name} names a proxy that cannot be used for model.test")
    assert "NO_PROXY" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("value", ["http://127.0.0.1:{}", "127.0.0.1:{}"])
def test_a_request_goes_through_the_proxy_of_its_scheme(monkeypatch, value):
    with WebServer(lambda request: response(request.target)) as proxy:
        monkeypatch.setenv("http_proxy", value.format(proxy.port))
        monkeypatch.setenv("all_proxy", "socks://127.0.0.1:9")
        assert get("http://model.test/v1") == "http://model.test/v1"


@pytest.mark.parametrize(
    ("entry", "url", "is_direct"),
    [
        ("*", "http://model.test", True),
        ("model.test", "http://model.test", True),
        ("MODEL.test", "http://eu.model.TEST", True),
        (".model.test", "http://eu.model.test", True),
        ("*.model.test", "http://eu.model.test", True),
        ("*model.test", "http://model.test", True),
        ("model.*", "http://model.test", True),
        ("model.test", "http://notmodel.test", False),
        ("model.test.", "http://model.test", True),
        ("model.test:8080", "http://model.test:8080", True),
        ("model.test:8080", "http://model.test", False),
        ("model.test:80", "http://model.test", True),
        ("https://model.test", "https://model.test", True),
        ("https://model.test", "http://model.test", False),
        ("10.0.0.0/8", "http://10.1.2.3:8000", True),
        ("10.0.0.0/8", "http://11.1.2.3", False),
        ("10.1.2.3", "http://10.1.2.3", True),
        ("192.168.*", "http://192.168.7.8", True),
        ("192.168.7.8:8000", "http://192.168.7.8:8000", True),
        ("fd00::/8", "http://[fd07:b51a::2]", True),
        ("[fd07:b51a::2]", "http://[fd07:b51a:0::2]", True),
        ("[fd07:b51a::2]:8000", "http://[fd07:b51a::2]:8000", True),
        ("[fd07:b51a::2]:8000", "http://[fd07:b51a::2]", False),
        ("fd07:b51a::2", "http://[fd07:b51a::3]", False),
        ("10.0.0.0/33", "http://10.0.0.1", False),
        ("a b\tmodel.test", "http://model.test", True),
        ("", "http://model.test", False),
    ],
)
def test_no_proxy_names_hosts_that_are_connected_to_directly(monkeypatch, entry, url, is_direct):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", f"other.test,{entry}")
    proxy = EnvironmentProxies.read().proxy_for(httpx.URL(url))
    assert (proxy is None) == is_direct


@pytest.mark.parametrize(
    "host", ["localhost", "api.localhost", "127.0.0.1", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_this_machine_is_never_reached_through_a_proxy(monkeypatch, host):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert EnvironmentProxies.read().proxy_for(httpx.URL(f"http://{host}:8000/v1")) is None
