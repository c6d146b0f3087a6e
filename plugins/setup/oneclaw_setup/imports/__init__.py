"""Taking over what other assistants keep in their homes. Files are read as data; nothing in them is run."""
