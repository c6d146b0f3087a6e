"""Recovery from answers and refusals that would end a turn: ask again, leave something out, keep what was read."""
