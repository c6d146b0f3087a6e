"""Sandboxes of the operating system, for commands and for processes that run foreign code.

- ``policy``: what programs may do.
- ``seccomp``, ``landlock``, ``confinement``: the parts of Linux that a process can restrict itself with.
- ``restriction``: a process restricts itself by a policy.
"""
