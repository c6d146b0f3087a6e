"""Fixtures: a stand-in for Google, a home that is signed in to it, and running the tools in that home."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google_desk import Desk, give_database, make_home, sign_in, stand_in
from google_programs import Programs


@pytest.fixture
def google(monkeypatch):
    """The stand-in; a test in which a request does not fit Google's description fails."""
    with stand_in(monkeypatch) as server:
        yield server


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    """A home in which no one is signed in."""
    return make_home(tmp_path / "home", monkeypatch)


@pytest.fixture(scope="session")
def programs():
    """Runs ``oneclaw`` in its own processes."""
    return Programs()


@pytest.fixture(scope="session")
def service_key():
    """A service account's private key, and the public one that Google has."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


@pytest.fixture
def home(google, empty_home):
    """A home in which ana@example.com is signed in for everything, as the account "work"."""
    give_database(empty_home)
    sign_in(google, empty_home)
    return empty_home


@pytest.fixture
def desk(home, tmp_path):
    """Runs the tools as ana@example.com in one open home; she agrees to everything."""
    (tmp_path / "project").mkdir()
    with Desk(home, tmp_path / "project") as desk:
        yield desk
