"""Foreign code kept apart: child processes, daemon threads and time limits."""
