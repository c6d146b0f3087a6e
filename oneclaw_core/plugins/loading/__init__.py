"""Loading of plugins: the catalogue put together, and imports at first use."""
