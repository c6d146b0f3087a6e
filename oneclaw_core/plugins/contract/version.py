"""The version of the plugin contract, which grows when a plugin made for the one before may not work any more."""

CONTRACT_VERSION = 1
