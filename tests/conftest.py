"""What holds for all tests."""

import atexit
import os
import shutil
import tempfile

# No test, and no program that one starts, touches the keyring of whoever runs it; set before keyring is imported.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# Neither is the catalogue of plugins cached for whoever runs it; the tests of one process share what they describe.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="oneclaw-tests-")

import pytest
from databases import database_environ, postgres, postgres_server
from how_long import register_profiles

__all__ = ["database_environ", "postgres", "postgres_server"]

register_profiles()
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


@pytest.fixture(autouse=True)
def forgotten_secrets():
    """What one test has redacted in its process is not redacted in the next."""
    from oneclaw_core.secrets import redaction as secrets

    before = set(secrets._remembered)
    yield
    secrets._remembered.intersection_update(before)
