"""The trigger ``file_changed`` on real files."""

import asyncio
import os

import pytest
from following import Following, until_stored
from oneclaw_triggers import files


@pytest.fixture
def run(oneclaw_factory, monkeypatch):
    monkeypatch.setattr(files, "_SECONDS", 0.05)

    def run(work):
        async def scene():
            async with oneclaw_factory(["triggers"]).opened() as claw:
                return await work(claw)

        return asyncio.run(scene())

    return run


def test_a_file_that_changes_is_reported_also_if_no_worker_ran(run, tmp_path):
    path = tmp_path / "notes.txt"

    async def work(claw):
        async with Following(claw, "file_changed", path=str(path)) as fired:
            await until_stored(claw, "trigger file")
            path.write_text("one")
            new = await fired.next()
            path.write_text("longer")
            changed = await fired.next()
        path.unlink()
        async with Following(claw, "file_changed", path=str(path)) as later:
            removed = await later.next()
        keys = {key for _, key in fired.events + later.events}
        return new, changed, removed, len(keys)

    assert run(work) == (f"changed: {path}".replace("changed", "new"), f"changed: {path}", f"removed: {path}", 3)


def test_what_changes_in_a_folder_is_reported_together(run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "old").write_text("x")

    async def work(claw):
        async with Following(claw, "file_changed", path=str(folder)) as fired:
            await until_stored(claw, "trigger file")
            (folder / "a.txt").write_text("a")
            (folder / "b.txt").write_text("b")
            os.utime(folder / "old", (1, 1))
            return await fired.next()

    assert run(work) == f"new: {folder}/a.txt\nnew: {folder}/b.txt\nchanged: {folder}/old"
