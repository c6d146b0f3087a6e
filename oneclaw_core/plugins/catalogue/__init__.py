"""The catalogue of installed plugins: discovery, description, cache and merging."""
