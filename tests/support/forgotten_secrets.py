"""The fixture ``forgotten_secrets``: what one test has redacted in its process is not redacted in the next."""

import pytest

from oneclaw_core.secrets import redaction


@pytest.fixture(autouse=True)
def forgotten_secrets():
    before, redaction._remembered = redaction._remembered, redaction._Remembered()
    yield
    redaction._remembered = before
