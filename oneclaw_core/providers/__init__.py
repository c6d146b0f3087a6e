"""Model services: one module for each wire format."""
