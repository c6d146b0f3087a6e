"""Full-text search without any I/O: what counts as a word, what a query asks for, and what fits it best."""
