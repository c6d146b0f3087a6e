"""The settings of checkpoints."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CheckpointSettings(BaseModel):
    """Limits of what is kept to undo changes of files."""

    enabled: bool = Field(True, description="snapshot files before tools change them, so that changes can be undone")
    max_megabytes: int = Field(
        500, ge=1, description="room for all snapshots, compressed; the oldest checkpoints go first"
    )
    max_file_megabytes: int = Field(10, ge=1, description="the largest file that is snapshotted")
    max_files: int = Field(
        20_000, ge=1, description="the most files of a directory in which changes of commands are followed"
    )
    max_days: int = Field(30, ge=1, description="the age in days after which checkpoints are removed")
