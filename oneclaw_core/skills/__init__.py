"""Skills: folders with a ``SKILL.md`` whose instructions a model loads on demand (the Agent Skills format)."""
