"""What sandboxes are tried with: a directory with secrets, and servers of the host that they must not reach."""

import ctypes
import os
import secrets
import socket
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

NOBODY = 65534
USERS = [os.getuid(), *([NOBODY] if os.getuid() == 0 else [])]
REFUSED = {
    "EACCES", "EAFNOSUPPORT", "EBADF", "EBUSY", "ECONNREFUSED", "EINVAL", "ENETUNREACH", "ENOENT", "ENOSYS", "ENXIO",
    "EPERM", "EPROTONOSUPPORT", "EROFS", "ESOCKTNOSUPPORT", "ESRCH", "EXDEV", "nothing",
}  # fmt: skip
LIBC = ctypes.CDLL(None, use_errno=True)
CREATE_FOR_ALL, REMOVE = 0o1666, 0  # IPC_CREAT with the permissions, IPC_RMID
CANARY = "canary-of-the-sandbox-tests"


@contextmanager
def surroundings():
    """Yield what the attempts are about; other users can enter it, unlike ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        root = Path(name).resolve()
        secret, outside, workspace, temporary = (root / each for each in ("secret", "outside", "workspace", "tmp"))
        for each in (secret, outside, temporary, workspace / ".git" / "hooks", workspace / "nested" / ".git" / "hooks"):
            each.mkdir(parents=True)
        for each in (secret / "key", workspace / ".env", workspace / ".git" / "config"):
            each.write_text("secret")
        (workspace / "nested" / ".git" / "config").write_text("secret")
        (workspace / "link-to-key").symlink_to(secret / "key")
        (workspace / "link-outside").symlink_to(outside)
        for each in (root, *root.rglob("*")):
            if not each.is_symlink():
                each.chmod(0o777)
        server, by_path, abstract = (
            stack.enter_context(socket.socket(each)) for each in (socket.AF_INET, socket.AF_UNIX, socket.AF_UNIX)
        )
        server.bind(("127.0.0.1", 0))
        by_path.bind(str(outside / "socket"))
        (outside / "socket").chmod(0o777)
        abstract.bind(f"\0{name}")
        for each in (server, by_path, abstract):
            each.listen(50)
        for user in USERS:
            options = {} if user == os.getuid() else {"user": user, "extra_groups": []}
            holder = subprocess.Popen(["sleep", "600"], env={"KEY": CANARY, "PATH": os.environ["PATH"]}, **options)
            stack.callback(holder.wait)
            stack.callback(holder.kill)
        shared = secrets.randbits(30) | 1
        identifier = LIBC.shmget(shared, 100, CREATE_FOR_ALL)
        assert identifier >= 0
        stack.callback(LIBC.shmctl, identifier, REMOVE, None)
        descriptor = os.open(secret, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        os.set_inheritable(descriptor, True)
        yield {
            "root": str(root),
            "secret": str(secret),
            "outside": str(outside),
            "workspace": str(workspace),
            "temporary": str(temporary),
            "port": server.getsockname()[1],
            "socket": str(outside / "socket"),
            "abstract": name,
            "pid": os.getpid(),
            "shared": shared,
            "descriptor": descriptor,
            # Written backwards: what looks for it must not find itself.
            "yranac": CANARY[::-1],
        }


def done(found):
    """Return the attempts that had success, after checking that the others were refused in a known way."""
    unknown = {name: outcome for name, outcome in found.items() if outcome not in {*REFUSED, "done"}}
    assert not unknown
    return {name for name, outcome in found.items() if outcome == "done"}


def names_in(directory):
    return [each.name for each in Path(directory).iterdir()]
