"""Code that all channels share."""
