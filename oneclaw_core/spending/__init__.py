"""What the requests of a turn may take, and what they used."""
