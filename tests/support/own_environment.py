"""Keep tests, and the programs that they start, away from what belongs to whoever runs them; done when imported."""

import atexit
import os
import shutil
import signal
import tempfile

# Read when keyring is imported.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# The catalogue of plugins is cached here; the tests of one process share what they describe.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="oneclaw-tests-")
# What is known of their names is noted here.
os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="oneclaw-tests-")
for _variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
    atexit.register(shutil.rmtree, os.environ[_variable], ignore_errors=True)

# A shell has what it starts in the background ignore both, and every process would inherit that from here.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
