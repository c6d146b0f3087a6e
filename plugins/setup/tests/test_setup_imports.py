"""Taking over what other assistants keep: their real formats, shown first, and hostile files."""

import json
import os

import pytest
from how_long import some
from pseudo_terminal import PseudoTerminal

KEYS = {name: f"sk-{name}-0123456789abcdef" for name in ("openrouter", "lab", "anthropic", "mistral", "proxy")}
HERMES_CONFIG = f"""
model:
  default: anthropic/claude-sonnet
  provider: openrouter
custom_providers:
  - name: My Lab
    base_url: http://lab.example/v1
    api_key: {KEYS["lab"]}
providers:
  proxy: {{api: "https://proxy.example/v1", key_env: PROXY_KEY}}
"""


@pytest.fixture
def hermes(users_folder):
    folder = users_folder / ".hermes"
    (folder / "memories").mkdir(parents=True)
    (folder / "config.yaml").write_text(HERMES_CONFIG)
    (folder / ".env").write_text(
        f"OPENROUTER_API_KEY='{KEYS['openrouter']}'\nexport PROXY_KEY={KEYS['proxy']} # mine\n"
    )
    (folder / "memories" / "MEMORY.md").write_text("Likes tea.\n§\nWorks\nat night.")
    make_skill(folder / "skills" / "writing" / "letter-style")
    make_skill(folder / "skills" / "brought-along")
    (folder / "skills" / ".bundled_manifest").write_text("brought-along:abc\n")
    return folder


@pytest.fixture
def nanobot(users_folder):
    folder = users_folder / ".nanobot"
    config = {
        "agents": {"defaults": {"model": "claude-x", "provider": "anthropic", "workspace": "~/.nanobot/workspace"}},
        "providers": {"anthropic": {"apiKey": KEYS["anthropic"]}, "vllm": {"apiBase": "http://localhost:8001/v1"}},
    }
    (folder / "workspace" / "memory").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "workspace" / "memory" / "MEMORY.md").write_text("# Facts\n\n(None yet)\n- Has a dog.\n")
    make_skill(folder / "workspace" / "skills" / "dogs")
    return folder


@pytest.fixture
def llm(users_folder, monkeypatch):
    folder = users_folder / "llm"
    folder.mkdir()
    monkeypatch.setenv("LLM_USER_PATH", str(folder))
    keys = {"// Note": "secret", "mistral": KEYS["mistral"], "lab": KEYS["lab"], "unheard": "sk-unheard-0123456789"}
    (folder / "keys.json").write_text(json.dumps(keys))
    model = "- {model_id: x, model_name: x, api_base: 'http://lab.example:8000/v1', api_key_name: lab}\n"
    (folder / "extra-openai-models.yaml").write_text(model)
    (folder / "default_model.txt").write_text("gpt-x\n")
    return folder


def make_skill(folder):
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: Test.\n---\nDo it.\n")
    (folder / "run.sh").write_text("touch /tmp/never\n")


@pytest.mark.one_python  # needs other plugins
def test_all_of_hermes_is_shown_and_taken(oneclaw, ok, home, hermes):
    listed = ok("setup", "import", "hermes", "--list")
    outcome = oneclaw("setup", "import", "hermes", "--yes")

    assert outcome.status == 0
    assert not any(key in listed + outcome.stdout + outcome.stderr for key in KEYS.values())
    for line in (
        "key of openrouter, from OPENROUTER_API_KEY in .env",
        "provider my_lab at http://lab.example/v1",
        "default model openrouter/anthropic/claude-sonnet",
        "skill letter-style",
        "note from MEMORY.md: Works at night.",
    ):
        assert line in listed
    assert "brought-along" not in listed
    assert ok("models", "default") == "openrouter/anthropic/claude-sonnet (stored)\n"
    stored = json.loads((home / "keys.json").read_text())
    assert all(KEYS[name] in json.dumps(stored) for name in ("openrouter", "lab", "proxy"))
    assert "letter-style" in ok("skills", "list")
    assert "Likes tea." in (home / "MEMORY.md").read_text()

    again = ok("setup", "import", "hermes", "--yes")

    assert "kept the key that there is" in again
    assert "kept the skill of that name" in again


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_nanobot_is_taken(ok, nanobot, home):
    taken = ok("setup", "import", "nanobot", "--yes")

    assert "key of anthropic, from config.json: stored" in taken
    assert "provider vllm at http://localhost:8001/v1: added" in taken
    assert "default model anthropic/claude-x: chosen" in taken
    assert "note from MEMORY.md: Has a dog.: remembered" in taken
    assert (home / "skills" / "dogs" / "run.sh").stat().st_mode & 0o111 == 0


@pytest.mark.one_python  # needs other plugins
def test_llm_is_taken(oneclaw, llm):
    outcome = oneclaw("setup", "import", "llm", "--yes")

    assert "key of mistral, from keys.json: stored" in outcome.stdout
    assert "provider lab_example at http://lab.example:8000/v1: added" in outcome.stdout
    assert "key of lab_example, from keys.json: stored" in outcome.stdout
    assert "default model openai/gpt-x: chosen" in outcome.stdout
    assert "the key 'unheard': no service of that name is known" in outcome.stderr


@pytest.mark.one_python  # needs other plugins
def test_key_is_not_stored_for_a_provider_at_another_server(ok, nanobot, home):
    providers = {"lab": {"apiBase": "https://lab.example/v1", "apiKey": KEYS["lab"]}}
    providers["mistral"] = {"apiKey": KEYS["mistral"]}
    (nanobot / "config.json").write_text(json.dumps({"providers": providers}))
    for name in providers:
        ok("providers", "add", name, "--type", "openai_compatible", "--base-url", "https://elsewhere.example/v1")

    taken = ok("setup", "import", "nanobot", "--yes")

    for name in providers:
        assert f"not stored: the provider {name} is at https://elsewhere.example/v1" in taken
    assert not (home / "keys.json").exists()


@pytest.mark.long
def test_items_are_taken_one_by_one(nanobot, home):
    with PseudoTerminal("setup", "import", "nanobot", environ=os.environ) as terminal:
        terminal.expect("choose for [e]ach")
        terminal.type("e\n")
        for item, answer in (("key", "n"), ("provider", "n"), ("default model", "n"), ("skill", "y"), ("note", "n")):
            terminal.expect(f"Take over {item}")
            terminal.type(f"{answer}\n")
        terminal.expect("copied")
        assert terminal.exit_status() == 0
    assert not (home / "keys.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    some(
        [
            ("config.json", b"{", "config.json is not JSON: "),
            ("config.json", b"[" * 100_000, "nested too deep"),
            ("config.json", b"[]", "holds no JSON object"),
            ("config.json", b"\xff\xfe\x00", "is not UTF-8 text"),
            ("config.json", b" " * 300_000, "is longer than"),
            ("config.json", b'{"agents": {"defaults": {"model": "somebody/x"}}}', "its service is not known here"),
            (
                "config.json",
                b'{"providers": {"x": {"apiBase": "file:///etc", "apiKey": "k"}}}',
                "its address cannot be used",
            ),
            ("config.json", b'{"providers": {"x": {"apiBase": "http://x:99999/v1"}}}', "its address cannot be used"),
            (
                "config.json",
                b'{"providers": {"x": 7, "openai": {"apiKey": ["a"]}}, "agents": []}',
                "nothing of nanobot was found",
            ),
        ],
        3,
    ),
)
def test_hostile_files_get_clear_errors(oneclaw, nanobot, name, content, message):
    (nanobot / name).write_bytes(content)
    for each in ("skills/dogs/SKILL.md", "memory/MEMORY.md"):
        (nanobot / "workspace" / each).unlink()

    outcome = oneclaw("setup", "import", "nanobot", "--list")

    assert outcome.status == 0
    assert message in outcome.stdout + outcome.stderr


def test_pipe_in_the_place_of_a_file_is_refused(oneclaw, hermes):
    (hermes / "config.yaml").unlink()
    os.mkfifo(hermes / "config.yaml")

    outcome = oneclaw("setup", "import", "hermes", "--list")

    assert "config.yaml is not a file" in outcome.stderr
    assert "key of openrouter" in outcome.stdout


def test_links_and_huge_skills_are_not_copied(oneclaw, nanobot, home, tmp_path):
    skills = nanobot / "workspace" / "skills"
    (skills / "dogs" / "passwd").symlink_to("/etc/passwd")
    make_skill(skills / "huge")
    with (skills / "huge" / "big.bin").open("wb") as file:
        file.truncate(20_000_000)

    outcome = oneclaw("setup", "import", "nanobot", "--yes")

    assert "skill dogs" in outcome.stdout
    assert "but for 1 links" in outcome.stdout
    assert not (home / "skills" / "dogs" / "passwd").exists()
    assert "it is larger than" in outcome.stdout
    assert sorted(each.name for each in (home / "skills").iterdir()) == ["dogs"]


@pytest.mark.one_python  # needs other plugins
def test_mcp_servers_are_offered_by_their_plugin(home, users_folder, ok, oneclaw, monkeypatch):
    entry = {"command": "files-server", "env": {"API_TOKEN": KEYS["lab"]}}
    (users_folder / ".claude.json").write_text(json.dumps({"mcpServers": {"files": entry}}))
    codex = users_folder / ".codex"
    codex.mkdir()
    (codex / "config.toml").write_text('[mcp_servers.docs]\nurl = "https://docs.example/mcp"\n')
    listed = ok("setup", "import", "--list")
    assert "files, from" in listed
    assert "runs: files-server" in listed
    assert "connects to: https://docs.example/mcp" in listed
    assert ok("mcp", "list", "--json") == []
    added = ok("setup", "import", "--yes")
    assert "files is added; start it and pin its tools with: oneclaw mcp check files" in added
    assert {each["name"] for each in ok("mcp", "list", "--json")} == {"files", "docs"}
    assert KEYS["lab"] not in listed + added
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", f"{os.environ['ONECLAW_DISABLED_PLUGINS']},mcp")
    assert "left out: the MCP servers in" in oneclaw("setup", "import", "codex", "--yes").stderr
