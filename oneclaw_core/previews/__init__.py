"""The request that would be sent next, and the state of a session, without a turn."""
