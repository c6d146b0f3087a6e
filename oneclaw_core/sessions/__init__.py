"""The database: sessions and messages, settings, permissions and tool states."""
