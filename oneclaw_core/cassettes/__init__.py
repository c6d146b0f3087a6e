"""Answers of models that were recorded, and are replayed."""
