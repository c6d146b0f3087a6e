"""Settings of OneClaw and of plugins: their fields, where a value comes from, and how it is checked."""
