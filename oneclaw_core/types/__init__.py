"""Nouns that all parts share: messages, tools, events."""
