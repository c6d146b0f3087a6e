"""Conversations that get too long for their model: a summary takes the place of the oldest part."""
