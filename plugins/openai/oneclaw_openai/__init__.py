"""OpenAI models for OneClaw, and every service that speaks its Chat Completions format."""
