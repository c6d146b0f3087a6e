"""Programs, Python functions in separate processes, and threads: the one way to run what may hang.

- :func:`run_program` runs a program to its end with a time limit, and streams its output.
- :func:`python_process` starts a Python function and gives the pipes to talk with it;
  :func:`~oneclaw_core.process.python_worker.take_pipes`, :func:`read_exactly` and :func:`write_all` are for the
  function's side.
- :func:`choose_sandbox` finds the sandbox of this machine, in which :func:`run_program` can run a program.
- :class:`SandboxPolicy` says what programs, and functions of :func:`python_process`, may do in a sandbox.
- :func:`run_in_thread` runs a blocking function without blocking the event loop.

All processes have a separate session, and end with everything they started when the caller leaves, is cancelled,
or is killed.
"""

from __future__ import annotations

from oneclaw_core._lazy import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from oneclaw_core.process.isolation import WorkerError as WorkerError
    from oneclaw_core.process.isolation import call_in_process as call_in_process
    from oneclaw_core.process.programs import ProgramEnd as ProgramEnd
    from oneclaw_core.process.programs import run_program as run_program
    from oneclaw_core.system.threads import run_in_thread as run_in_thread

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.errors import SandboxError as SandboxError
    from oneclaw_core.errors import describe_error as describe_error
    from oneclaw_core.process.plugin_looks import looking_command as looking_command
    from oneclaw_core.process.plugin_looks import read_answers as read_answers
    from oneclaw_core.process.python_runner import PythonProcess as PythonProcess
    from oneclaw_core.process.python_runner import describe_end as describe_end
    from oneclaw_core.process.python_runner import python_process as python_process
    from oneclaw_core.process.python_worker import read_exactly as read_exactly
    from oneclaw_core.process.python_worker import write_all as write_all
    from oneclaw_core.process.sandbox.choice import SANDBOXES as SANDBOXES
    from oneclaw_core.process.sandbox.choice import ChosenSandbox as ChosenSandbox
    from oneclaw_core.process.sandbox.choice import choose_sandbox as choose_sandbox
    from oneclaw_core.process.sandbox.policy import Access as Access
    from oneclaw_core.process.sandbox.policy import Network as Network
    from oneclaw_core.process.sandbox.policy import SandboxBackend as SandboxBackend
    from oneclaw_core.process.sandbox.policy import SandboxLimits as SandboxLimits
    from oneclaw_core.process.sandbox.policy import SandboxPolicy as SandboxPolicy
    from oneclaw_core.process.sandbox.policy import Strength as Strength
    from oneclaw_core.process.sandbox_rules import SandboxScope as SandboxScope
    from oneclaw_core.process.sandbox_rules import sandbox_policy as sandbox_policy
    from oneclaw_core.secrets.redaction import without_secrets as without_secrets

__getattr__, __dir__, __all__ = lazy_names(__name__)
