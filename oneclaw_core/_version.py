"""The version of OneClaw."""

__version__ = "0.1.0"
