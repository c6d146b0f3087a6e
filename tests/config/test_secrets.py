import logging
import sys

from oneclaw_core.secrets.redaction import REDACTED, SecretFilter, redact, remember_secret, without_secrets

ENVIRON = {
    "OPENAI_API_KEY": "sk-0123456789",
    "GITHUB_TOKEN": "sk-0123456789-and-more",
    "client_secret": "hush-hush",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7",
    "MINIO_SECRET_KEY": "minio-0123456789",
    "PGPASSWORD": "correct horse",
    "SHORT_API_KEY": "abc",
    "HOME": "/home/somebody",
}


def test_secrets_are_replaced_wherever_they_stand():
    text = "key=sk-0123456789; token sk-0123456789-and-more, hush-hush"
    assert redact(text, ENVIRON) == f"key={REDACTED}; token {REDACTED}, {REDACTED}"
    text = "wJalrXUtnFEMI/K7 minio-0123456789 correct horse"
    assert redact(text, ENVIRON) == f"{REDACTED} {REDACTED} {REDACTED}"


def test_passwords_in_urls_are_secrets_whatever_the_variable_is_called():
    environ = {
        "DATABASE_URL": "postgresql://app:p%40ss%3Aword@db.example:5432/app?sslmode=require",
        "REPLICA": "host first: postgresql://app@db.example/app?connect_timeout=3&password=correct-horse",
        "HTTPS_PROXY": "http://me:proxy-pass@proxy.example:3128",
        "HOMEPAGE": "https://example.com:8080/a:b@c",
        "SEVERAL": "redis://:redis-pass@a/0, amqp://guest:rabbit-pass@b/%2f",
    }
    environ |= {
        "SERVICE": "https://lab.example/v1?v=12345678&api-key=lab-key-1&sslkey=/etc/client.key",
        "OTHER": "https://lab.example?Key=lab-key-2#x",
    }
    text = "p%40ss%3Aword p@ss:word correct-horse proxy-pass redis-pass rabbit-pass lab-key-1 lab-key-2"
    assert redact(text, environ) == " ".join([REDACTED] * 8)
    assert redact("12345678 /etc/client.key", environ) == "12345678 /etc/client.key"
    assert redact("https://example.com:8080/a:b@c app me guest require", environ) == (
        "https://example.com:8080/a:b@c app me guest require"
    )


def test_what_is_shorter_than_asked_for_stays():
    assert redact("sk-0123456789-and-more hush-hush", ENVIRON, shortest=20) == f"{REDACTED} hush-hush"


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


def test_renewed_secrets_of_an_account_are_redacted_for_a_while():
    tokens = [f"token-of-ada-{number:08}" for number in range(9)]
    for token in tokens:
        remember_secret(token, "ada")
        remember_secret("token-of-bob-unchanged", "bob")
    assert redact(" ".join([*tokens, "token-of-bob-unchanged"]), {}) == " ".join([*tokens[:5], *[REDACTED] * 5])


def test_an_earlier_secret_that_counts_again_is_the_current_one():
    for name in ("first", "second", "first", "third", "fourth", "fifth"):
        remember_secret(f"{name}-token", "ada")
    assert redact("first-token second-token", {}) == f"{REDACTED} second-token"


def test_secrets_without_an_account_are_bounded_and_forget_none_of_an_account():
    remember_secret("token-of-ada", "ada")
    for number in range(300):
        remember_secret("token-of-ada")
        remember_secret(f"unnamed-{number:04}")
    assert redact("token-of-ada unnamed-0299 unnamed-0000", {}) == f"{REDACTED} {REDACTED} unnamed-0000"


def test_the_same_secret_of_two_accounts_stays_as_long_as_one_has_it():
    remember_secret("token-of-both", "bob")
    for secret in ("token-of-both", *(f"token-{number:04}" for number in range(9))):
        remember_secret(secret, "ada")
    assert redact("token-of-both", {}) == REDACTED


def test_secrets_that_overlap_leave_no_rest():
    for secret in ("abcdefgh12", "gh12345678", "12345678", "cdcdcdcd"):
        remember_secret(secret, secret)
    assert redact("-abcdefgh12345678-12345678gh12345678-cdcdcdcdcd-", {}) == f"-{REDACTED}-{REDACTED * 2}-{REDACTED}-"


def test_programs_that_a_model_starts_get_no_secrets():
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/ada",
        "PWD": "/home/ada/project",
        "SSH_AUTH_SOCK": "/run/agent",
        "TOKENIZERS_PARALLELISM": "false",
        "KEYBOARD": "us",
        "MONKEY": "banana",
        "SHORT": "abc",
        "MY_API_KEY": "abc",
        "HOME_KEY": "/home/ada",
    }
    hidden = {
        "OPENAI_API_KEY": "sk-0123456789abcdef",
        "AWS_ACCESS_KEY_ID": "AKIA0123456789",
        "aws_secret_access_key": "wJalrXUtnFEMI",
        "GITHUB_TOKEN": "ghp_0123456789",
        "GITHUB_PAT": "ghp_9876543210",
        "GITHUBTOKEN": "ghp_5555555555",
        "PGPASSWORD": "correct horse",
        "MYSQL_PWD": "battery staple",
        "DB_PASSWORD_FILE_CONTENT": "x",
        "KEY": "y",
        "ONECLAW_HOME": "/home/ada/.oneclaw",
        "OneClaw_Anything": "z",
        "HEADER": "Bearer sk-0123456789abcdef",
        "COPY": "ghp_0123456789",
    }
    kept = without_secrets({**environ, **hidden})
    assert kept == {name: value for name, value in environ.items() if name not in ("MY_API_KEY", "HOME_KEY")}


def test_a_remembered_secret_is_kept_from_programs_too():
    remember_secret("remembered-0123456789")
    assert without_secrets({"URL": "http://remembered-0123456789@host", "OTHER": "x"}) == {"OTHER": "x"}


def test_programs_get_no_variable_that_is_a_secret_by_its_name_or_its_value():
    hidden = {
        "DB_PASS": "a",
        "PGPASS": "b",
        "JWT": "c",
        "SLACK_WEBHOOK_URL": "https://hooks.example/T0/B0/x",
        "SENTRY_DSN": "https://public@sentry.example/1",
        "AWS_CREDENTIALS": "d",
        "BASIC_AUTH": "e",
        "CI_REGISTRY": "postgresql://app:correct-horse@db/app",
        "NOTIFY": "https://hooks.slack.com/services/T0/B0/x",
        "DEPLOY": "ghp_0123456789abcdef",
        "BOT": "xoxb-0123456789-abc",
        "SESSION": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x",
        "OPENAIKEY": "0123456789abcdef",
        "VAULT_UNSEAL": "e",
        "VAULT_UNSEAL_1": "f",
        "AZURE_STORAGE_CONNECTION_STRING": "g",
        "STORAGE": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=bm90IGEga2V5",
        "SQL": "Server=db;Database=app;Pwd=correct-horse",
        "REDIS_CONNSTR": "h",
        "WALLET_MNEMONIC": "i",
        "ROOTPASS": "correct-horse-battery",
        "LOGIN_OTP": "j",
        "PEM": "-----BEGIN RSA PRIVATE KEY-----",
        "DBPASSWD": "correct-horse-1",
        "BANK_PIN": "1234",
        "BACKUP_CODES": "11112222 33334444",
        "UNSEALKEYS": "correct-horse-2",
        "GITHUBPAT": "correct-horse-3",
        "STRIPE_SK": "k",
        "HASH_SALT": "l",
        "HTTP_AUTHORIZATION": "m",
        "SENHA_DB": "n",
        "LIBPQ": "host=db user=app password=correct-horse",
        "SHARED_LINK": "https://blob.example/a?se=1&sig=abcdefgh",
        "HEADER": "Bearer abcdefgh1234",
        "ACCOUNT": '{"type": "service_account", "private_key": "x"}',
        "SIGNER": "wJalrXUtnFEMIK7MDENGbPxRfiCYq9==",
        "IDENTITY": "AGE-SECRET-KEY-1ABC",
    }
    kept = {
        "PATH": "/usr/bin",
        "PWD": "/srv",
        "OLDPWD": "/",
        "SSH_AUTH_SOCK": "/run/agent",
        "HTTPS_PROXY": "http://me:proxy-pass@proxy.example:3128",
        "COMPASS": "north",
        "AUTHOR": "Ada",
        "KEYBOARD": "de",
        "MONKEY": "banana",
        "SEEDLING": "oak",
        "HOMEPAGE": "https://example.com",
        "GIT_COMMIT": "fedcba9876543210fedcba9876543210fedcba98",
        "SESSION_ID": "0f9c2d4e-1111-2222-3333-444455556666",
        "SPINNER": "on",
        "PATTERN": "x",
        "TASKS": "3",
        "CLASSPATH": "/opt/Lib2/x:/opt/Lib3/y",
        "REMOTE": "ssh://git@example.com/x",
    }
    assert without_secrets({**hidden, **kept}) == kept
