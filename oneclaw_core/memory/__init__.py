"""What is remembered about the user, in the file ``MEMORY.md`` of the home, which the user may edit as well."""
