"""Memory for OneClaw: what an agent remembers about its user, and search in past sessions."""
