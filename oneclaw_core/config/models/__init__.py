"""Models: providers, what they offer, what the user says about a model, and prices."""
