"""Settings of OneClaw and of plugins: fields, values and where they come from."""
