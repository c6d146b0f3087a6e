"""The user's own tools, written in JavaScript or Python: files in the home, picked up while the program runs."""
