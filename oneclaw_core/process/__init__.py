"""Threads and child processes."""
