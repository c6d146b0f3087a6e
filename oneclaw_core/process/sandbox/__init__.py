"""Sandboxes of the operating system, for commands and for processes that run foreign code.

- ``policy``: what programs may do, and the interface of what runs them by it: ``bubblewrap``, ``landlock``.
- ``choice``: which of them works on this machine.
- ``seccomp``, ``confinement``: the other parts of Linux that a process can restrict itself with.
"""
