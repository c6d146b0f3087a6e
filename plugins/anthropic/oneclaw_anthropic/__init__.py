"""Anthropic's models for OneClaw."""
