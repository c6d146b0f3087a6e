"""Answers of a type that the program wants."""
