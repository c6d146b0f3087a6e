"""The parts of the reference that are generated from the program as Markdown, a module for each."""
