"""Home, settings, secrets and keys, providers and models: what the user sets."""
