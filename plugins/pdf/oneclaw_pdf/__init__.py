"""PDF tools for OneClaw."""
