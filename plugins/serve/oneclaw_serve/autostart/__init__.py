"""Start ``oneclaw serve`` with the system: as a systemd user unit, a launchd agent or a Windows scheduled task."""
