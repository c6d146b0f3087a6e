def thing_lookup(**arguments):
    return "a thing"
