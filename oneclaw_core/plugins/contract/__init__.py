"""What the hooks of plugins get and return."""
