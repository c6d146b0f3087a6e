"""The directory that the program was started in: trust in it, and the files in it that models follow."""
