"""One turn: from a user message to the model's final answer."""
