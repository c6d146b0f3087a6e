"""Errors of skills."""

from oneclaw_core import OneClawError


class SkillError(OneClawError):
    """A skill's files cannot be read, or its ``SKILL.md`` does not follow the format."""
