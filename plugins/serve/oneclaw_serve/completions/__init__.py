"""The endpoints ``/v1`` for clients of OpenAI's Chat Completions; each agent is a model."""
