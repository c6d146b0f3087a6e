async def thing_lookup(name):
    return name[:20]
