"""Agents: personas with a system prompt, a toolset and limits."""
