"""Start ``oneclaw serve`` with the system: as a systemd user unit or a launchd agent."""
