def thing_lookup(title):
    return title
