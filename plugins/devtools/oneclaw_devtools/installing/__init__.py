"""Plugin packages, installed by pip or uv into the environment that OneClaw runs in, and recorded in the home."""
