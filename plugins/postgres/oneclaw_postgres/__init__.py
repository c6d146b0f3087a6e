"""A store for OneClaw in PostgreSQL, for several machines."""
