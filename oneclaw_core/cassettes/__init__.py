"""Cassettes: answers of models that were recorded once, and are replayed without a key and a network."""
