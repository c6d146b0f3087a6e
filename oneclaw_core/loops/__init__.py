"""Async code that blocks its event loop: run that of plugins apart, and measure that of the program."""
