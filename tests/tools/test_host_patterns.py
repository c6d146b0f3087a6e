"""Hosts that a permission is for, and patterns of them."""

import pytest

from oneclaw_core import UsageError
from oneclaw_core.permissions.rules import (
    check_host,
    covers_host,
    covers_web_host,
    exact_host,
    private_place,
    touches_host,
)


@pytest.mark.parametrize(
    ("host", "address", "subject"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1:80"),
        ("::1", "::1", "[::1]:80"),
        ("LOCALHOST.", "127.0.0.1", "localhost:80@loopback"),
        ("nas.lan", "192.168.1.7", "nas.lan:80@private"),
        ("nas.lan", "fd00::1", "nas.lan:80@private"),
        ("nas.lan", "169.254.169.254", "nas.lan:80@link-local"),
        ("nas.lan", "::ffff:169.254.169.254", "nas.lan:80@link-local"),
        ("nas.lan", "168.63.129.16", "nas.lan:80@other"),
    ],
)
def test_a_subject_says_the_port_and_the_kind_of_address_of_a_name(host, address, subject):
    assert private_place(host, address, 80) == subject
    assert exact_host(subject) == subject


@pytest.mark.parametrize(
    ("pattern", "subject", "is_covered"),
    [
        ("nas.lan", "nas.lan:443@private", True),
        ("nas.lan:443", "nas.lan:443@private", True),
        ("nas.lan:443@private", "nas.lan:443@private", True),
        ("nas.lan:443@private", "nas.lan:443@link-local", False),
        ("nas.lan:443@private", "nas.lan:22@private", False),
        ("nas.lan:443", "nas.lan", False),
        ("*.lan:443", "nas.lan:443@private", True),
        ("*.lan", "lan:443", False),
        ("::1", "[::1]:80", True),
        ("[::1]:81", "[::1]:80", False),
        ("nas.lan", "evil nas.lan", False),
    ],
)
def test_a_grant_holds_for_what_it_names_and_for_all_that_it_leaves_open(pattern, subject, is_covered):
    assert covers_host(check_host(pattern), subject) is is_covered


@pytest.mark.parametrize(
    ("pattern", "subject", "is_denied"),
    [
        ("nas.lan", "nas.lan:443@private", True),
        ("nas.lan", "a.nas.lan:443@private", True),
        ("nas.lan:22", "nas.lan:443@private", False),
        ("nas.lan:22", "nas.lan", True),
        ("nas.lan@link-local", "nas.lan:80@private", False),
        ("nas.lan", "other.lan", False),
    ],
)
def test_a_denial_holds_in_doubt(pattern, subject, is_denied):
    assert touches_host(check_host(pattern), subject) is is_denied


@pytest.mark.parametrize("pattern", ["", "*", "*.", "a b", "a:0", "a:65536", "a:x", "a@public", "a*b", "http://a/"])
def test_what_is_no_host_is_refused(pattern):
    with pytest.raises(UsageError, match="is not a host"):
        check_host(pattern)


@pytest.mark.parametrize(
    ("pattern", "subject", "is_covered"),
    [
        ("example.com", "example.com", True),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "evilexample.com", False),
        ("example.com", "example.com:22", False),
        ("example.com:22", "example.com:22", True),
        ("example.com:22", "example.com", False),
    ],
)
def test_for_commands_no_port_means_those_of_the_web(pattern, subject, is_covered):
    assert covers_web_host(pattern, subject) is is_covered
