"""Arguments and results of the hooks of plugins."""

CONTRACT_VERSION = "0.3"
"""The version of the plugin contract: of the last OneClaw that deprecated, removed or changed a part of it.

A plugin made for one minor version loads unchanged in the next one; ``docs/compatibility.md`` has the whole promise.
"""
