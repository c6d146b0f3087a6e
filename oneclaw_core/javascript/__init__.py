"""Running JavaScript in worker processes: what models write, and the user's own tools."""
