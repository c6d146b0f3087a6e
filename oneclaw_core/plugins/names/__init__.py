"""The names that plugins register, and the distributions that they belong to."""
