"""A rule-based stand-in for a language model, for OneClaw without a key or a network."""
