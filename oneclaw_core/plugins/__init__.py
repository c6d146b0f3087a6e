"""The plugin contract and everything that finds, loads and calls plugins."""
