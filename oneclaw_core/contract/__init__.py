"""Arguments and results of the hooks of plugins."""

CONTRACT_VERSION = 1
"""The version of the plugin contract, which grows when a plugin made for the one before may not work any more."""
