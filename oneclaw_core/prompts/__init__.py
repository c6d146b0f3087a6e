"""System prompts that are kept with their sessions, and how a model is told what has changed."""
