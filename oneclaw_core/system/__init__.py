"""The machine and the installation: directories and files of a user, threads, and what our distributions bring."""
