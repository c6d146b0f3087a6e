"""Arguments and results of the hooks of plugins."""
