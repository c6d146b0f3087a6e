"""What looks like a secret, and what does not."""

import secrets
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_memory.key_shapes import key_shape

BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    "secret",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        f"sk-{BODY}",
        "sk-proj-abcdefghijklmnopqrst",
        f"sk-ant-api03-{BODY}",
        f"sk_live_{BODY}",
        f"ghp_{BODY}",
        f"github_pat_{BODY}",
        f"glpat-{BODY[:20]}",
        f"AIza{BODY[:35]}",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefghij",
        f"hf_{BODY}",
        f"npm_{BODY}",
        f"pypi-{BODY}",
        "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
        "Authorization: Bearer abcdefghijklmnop1234",
        "postgres://ann:hunter2@db.example.com/app",
        "the password is hunter2",
        "Wifi password: correct-horse-7",
        'api_key = "0123abcd4567"',
        "Das Passwort ist Geheim!99",
        "my PIN is 4711",
        "0123456789abcdef0123456789abcdef",
        "dGhpcyBpcyBhIHNlY3JldCBrZXkgMTIz",
    ],
)
def test_secrets_are_recognised_and_not_repeated(secret):
    reason = key_shape(f"Remember this: {secret} for later")
    assert reason is not None
    assert len(reason) < 40
    assert secret not in reason


@given(st.integers(32, 64))
def test_random_tokens_are_recognised(length):
    alphabet = string.ascii_letters + string.digits
    tokens = ["".join(secrets.choice(alphabet) for _ in range(length)) for _ in range(20)]
    # A random token may by chance look like a word; most do not.
    assert sum(key_shape(token) is not None for token in tokens) >= 17


@pytest.mark.parametrize(
    "text",
    [
        "The user's password manager is Bitwarden",
        "The password is required at each start",
        "Prefers tokens over sessions; the token is on the fridge",
        "Project id 123e4567-e89b-12d3-a456-426614174000",
        "See https://example.com/a/very/long/path/that/Goes2/On and /home/ann/Projects/OneClaw/2026/notes.md",
        "Works on OneClawMemorySectionTestCase2 and get_available_group_definitions_for_agent",
        "Lives in Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch",
        "Order number 2026-11-21-0001, phone +49 30 1234567",
        "Mail: ann@example.com; site: http://user.example.com:8080/x@y",
        "Desk: sk-8 board; likes secret gardens: yes",
        "日本語の長い文章でも大丈夫です" * 5,
        "",
    ],
)
def test_what_people_want_remembered_is_none(text):
    assert key_shape(text) is None


@pytest.mark.long
@given(st.text(max_size=300))
def test_any_text_is_judged(text):
    key_shape(text)


def test_long_texts_are_judged_in_no_time():
    for text in ("sk-", "a", "password is ", "a1B2", "x:", "eyJ", "a.b://", "bearer ", "1:", "-----BEGIN "):
        key_shape(text * (5000 // len(text)))
