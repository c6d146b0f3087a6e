"""Skills as tests write them."""


def write_skill(directory, name="report", description="Write reports. Use for reports.", body="Do it.", **fields):
    """Write a skill's folder; further fields go into the front matter, ``allowed_tools`` as ``allowed-tools``."""
    folder = directory / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"name: {name}", f"description: {description}"]
    lines += [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
    (folder / "SKILL.md").write_text("\n".join(["---", *lines, "---", body, ""]), encoding="utf-8")
    return folder
