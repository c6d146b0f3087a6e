"""Import a plugin in a child process, to find out whether it ends the program or was there when that was killed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.isolation import ForeignCall, ForeignError
from oneclaw_core.plugins.registration.entry import import_target
from oneclaw_core.process.probe import Scratch, run_probe
from oneclaw_core.process.temporary_folders import worker_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.process.probe_child import Channel


def import_targets(request: Mapping[str, Any], channel: Channel) -> None:
    """Import what a plugin was importing when the program ended."""
    for target in request["targets"]:
        channel.send({"begin": target})
        try:
            # In a thread, as in the program.
            ForeignCall(partial(import_target, target), f"import of {target}").wait(isolation.LOAD_SECONDS)
        except ForeignError:
            continue  # which the program survives, and reports


_TASK = "oneclaw_core.plugins.loading.crash_probe:import_targets"


def can_be_imported(targets: Sequence[str]) -> bool:
    """Return True if a child process lives on after importing something; exceptions do no harm."""
    with worker_folder() as folder:
        scratch = Scratch(Path(folder))
        scratch.make()
        request = {"task": _TASK, "targets": list(targets)}
        return run_probe(request, scratch, isolation.LOAD_SECONDS).end.is_complete
