"""The fixture ``forgotten_secrets``: what one test has redacted in its process is not redacted in the next.

Each secret is looked for in every text, so that thousands of them make all later tests slow.
"""

import pytest

from oneclaw_core.secrets import redaction


@pytest.fixture(autouse=True)
def forgotten_secrets():
    before = set(redaction._remembered)
    yield
    redaction._remembered.intersection_update(before)
