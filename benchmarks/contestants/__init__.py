"""Each module does the work of the table with one framework. None is imported but in a separate process."""
