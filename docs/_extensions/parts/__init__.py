"""What the reference says that only the program knows, as Markdown; a module for each part."""
