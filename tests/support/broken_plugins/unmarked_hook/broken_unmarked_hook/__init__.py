"""One of its hooks is not marked."""

from oneclaw_core import hookimpl, tool


@tool
def weigh_parcel(grams: int) -> str:
    """Say what a parcel weighs, in words. Use it for parcels, not for letters.

    Args:
        grams: what the scales show.
    """
    return f"{grams} grams"


def register_tools(register):
    register(weigh_parcel)


@hookimpl
def register_groups(register):
    """Nothing yet."""
