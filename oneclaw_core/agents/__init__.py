"""Listing, creating, changing and deleting agents."""
