thing_lookup = "a thing"
