"""Secrets: kept in the keyring or a private file, and out of output and logs."""
