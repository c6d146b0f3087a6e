"""A process that becomes a user, restricts itself, and makes the attempts to get out."""

import json
import os
import resource
import sys
import threading
from pathlib import Path

from escape_attempts import outcome, report

from oneclaw_core.process import SandboxPolicy
from oneclaw_core.process.python_worker import enter_sandbox
from oneclaw_core.process.sandbox import confinement, landlock, seccomp

# Another user may not be able to import from here.
LOADED = resource, confinement


def main():
    user, kind, of = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    if user != os.getuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    secret, workspace = Path(of["secret"]), Path(of["workspace"])
    policy = SandboxPolicy(write_roots=(workspace,), hidden_folders=(secret,), hidden_files=(Path("/etc/shadow"),))
    if kind == "computing":
        policy = SandboxPolicy(is_system_readable=False, can_start_programs=False)
    enter_sandbox(landlock.make_ruleset(policy), seccomp.filter_file(policy))
    in_a_thread = []
    thread = threading.Thread(target=lambda: in_a_thread.append(outcome((secret / "key").read_text)))
    thread.start()
    thread.join()
    sys.stdout.write(json.dumps({**report(of), "read a hidden file in a thread": in_a_thread[0]}))


main()
