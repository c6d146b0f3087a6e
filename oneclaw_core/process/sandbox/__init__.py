"""Sandboxes of the operating system, for commands and for processes that run foreign code.

- ``policy``: what programs may do.
- ``backend``: the interface of what runs programs by a policy: ``bubblewrap``, ``landlocked``.
- ``choice``: which of them works on this machine.
- ``seccomp``, ``landlock``, ``confinement``: the parts of Linux that a process can restrict itself with.
"""
