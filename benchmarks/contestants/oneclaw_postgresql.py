"""OneClaw with a PostgreSQL server on the same machine, whose database ``ONECLAW_DATABASE_URL`` names."""

from benchmarks.contestants.oneclaw import turn

__all__ = ["turn"]
