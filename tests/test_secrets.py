import logging
import sys

from oneclaw_core.secrets import REDACTED, SecretFilter, redact, remember_secret

ENVIRON = {
    "OPENAI_API_KEY": "sk-0123456789",
    "GITHUB_TOKEN": "sk-0123456789-and-more",
    "client_secret": "hush-hush",
    "SHORT_API_KEY": "abc",
    "HOME": "/home/somebody",
}


def test_secrets_are_replaced_wherever_they_stand():
    text = "key=sk-0123456789; token sk-0123456789-and-more, hush-hush"
    assert redact(text, ENVIRON) == f"key={REDACTED}; token {REDACTED}, {REDACTED}"


def test_values_that_are_short_or_no_secrets_stay():
    assert redact("abc lives in /home/somebody", ENVIRON) == "abc lives in /home/somebody"


def test_a_value_with_spaces_around_it_is_found_without_them():
    assert redact("x12345678y", {"A_TOKEN": " 12345678\n"}) == f"x{REDACTED}y"


def formatted(record):
    assert SecretFilter().filter(record)
    return logging.Formatter().format(record)


def test_the_filter_covers_message_arguments_and_traceback(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    try:
        raise ValueError("refused sk-0123456789")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "sent %s", ("sk-0123456789",), sys.exc_info())
    text = formatted(record)
    assert "sk-0123456789" not in text
    assert text.startswith(f"sent {REDACTED}\nTraceback")
    assert f"ValueError: refused {REDACTED}" in text


def test_the_filter_keeps_a_record_whose_arguments_do_not_fit():
    assert "no place for (1, 2)" in formatted(logging.LogRecord("x", logging.INFO, "", 1, "no place for", (1, 2), None))


def test_a_remembered_secret_is_redacted_though_it_is_in_no_environment():
    remember_secret("hush-remembered")
    remember_secret("short")
    assert redact("a hush-remembered, a short one", {}) == f"a {REDACTED}, a short one"
    record = logging.LogRecord("x", logging.INFO, "", 1, "sent %s", ("hush-remembered",), None)
    assert formatted(record) == f"sent {REDACTED}"
