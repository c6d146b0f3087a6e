"""What a tool is, and how one is run. Knows nothing of conversations, model services or the database."""
