"""The rule for files that hold secrets."""

import pytest

from oneclaw_core.files.hidden_paths import (
    hidden_root,
    is_hidden,
    is_hidden_name,
    is_private_directory,
    user_directory,
)
from oneclaw_core.files.protected_places import protected_root


@pytest.fixture(autouse=True)
def user_home(tmp_path, monkeypatch):
    """A user's directory that the tests own."""
    home = tmp_path / "users" / "ada"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def project(tmp_path):
    """A directory outside the user's own."""
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


HIDDEN = """
    .env .env.local .env.production .env-backup .envrc prod.env .ENV .Env.Local deploy/.env
    .ssh/id_rsa .ssh/config .SSH/id_rsa id_rsa id_ed25519 id_ed25519_sk id_rsa.bak ID_RSA backup/id_ecdsa_work
    server.pem private.KEY store.p12 store.pfx release.jks wallet.kdbx putty.ppk ssh_host_ed25519_key
    .netrc _netrc .npmrc .pypirc .pgpass .git-credentials .htpasswd .docker/config.json .kube/config
    .aws/credentials .aws/config .gnupg/private-keys-v1.d/x credentials credentials.json secrets.yaml
    client_secret_123.json service-account.json terraform.tfstate .bash_history
    .e\u200bnv .s\ufeffsh/id
""".split()  # noqa: SIM905  # easier to read and to extend
READABLE = """
    .env.example .env.sample .env.template .env.local.example .env.dist example.env sample.env .envrc.example
    environment.py env.txt .envoy id_rsa.pub id_rsa_key.pub keys.py key.txt monkey pem.md README.md cacert.pem
    ca-bundle.pem .gitignore .github/workflows/ci.yml .config/app.toml .git/config credentials.py secrets.md
""".split()  # noqa: SIM905  # easier to read and to extend


@pytest.mark.parametrize("name", HIDDEN)
def test_files_with_secrets_are_hidden(project, name):
    assert is_hidden(project / name)


@pytest.mark.parametrize("name", READABLE)
def test_other_files_are_readable(project, name):
    assert not is_hidden(project / name)


def test_a_link_to_a_hidden_file_is_hidden(project):
    (project / ".env").write_text("KEY=1")
    (project / "notes.txt").symlink_to(".env")
    assert hidden_root(project / "notes.txt") == project / ".env"


def test_a_link_into_a_hidden_folder_is_hidden(project):
    (project / ".ssh").mkdir()
    (project / "docs").symlink_to(".ssh")
    assert is_hidden(project / "docs" / "anything")


def test_a_hidden_name_that_links_to_an_ordinary_file_is_hidden(project):
    (project / "settings.txt").write_text("KEY=1")
    (project / ".env").symlink_to("settings.txt")
    assert is_hidden(project / ".env")


def test_dots_in_a_path_do_not_hide_what_it_leads_to(project):
    assert is_hidden(project / "docs" / ".." / ".env")
    assert is_hidden(f"{project}/docs/../.ssh/./id")


def test_a_loop_of_links_is_judged_by_its_name(project):
    (project / ".env").symlink_to("b")
    (project / "b").symlink_to(".env")
    assert is_hidden(project / ".env")


def test_dot_folders_of_the_users_directory_are_hidden(user_home):
    assert hidden_root(user_home / ".config" / "app" / "token") == user_home / ".config"
    assert is_hidden(user_home / ".zshrc")
    assert is_hidden(user_home / "Library" / "Keychains" / "login.db")
    assert not is_hidden(user_home / "notes.txt")
    assert not is_hidden(user_home / "project" / ".config" / "app.toml")


def test_the_users_directory_is_known_under_another_name(user_home, project):
    (project / "link").symlink_to(user_home)
    assert is_hidden(project / "link" / ".config" / "token")


def test_the_home_of_oneclaw_is_hidden_except_what_is_opened(user_home):
    home = user_home / ".local" / "share" / "oneclaw"
    workspace = home / "workspace"
    assert is_hidden(home / "oneclaw.db")
    assert is_hidden(workspace / "a.txt")
    assert not is_hidden(workspace / "a.txt", [workspace])
    assert hidden_root(workspace / ".env", [workspace]) == workspace / ".env"
    assert is_hidden(home / "oneclaw.db", [workspace])


def test_a_directory_that_is_opened_opens_nothing_around_it(user_home):
    assert is_hidden(user_home / ".config" / "a", opened=[user_home / ".config" / "nvim"])
    assert is_hidden(user_home / ".config" / "a", opened=[user_home])
    assert not is_hidden(user_home / ".config" / "nvim" / "init.lua", opened=[user_home / ".config" / "nvim"])


def test_the_outermost_name_is_the_root(project):
    assert hidden_root(project / ".ssh" / "keys" / "id_rsa") == project / ".ssh"
    assert hidden_root(project / "readme") is None


def test_public_certificates_of_the_system_are_readable():
    assert not is_hidden("/etc/ssl/certs/Some_Authority.pem")
    assert is_hidden("/etc/ssl/private/server.key")
    assert is_hidden("/etc/shadow")


@pytest.mark.parametrize(
    "name",
    [".git/config", ".GIT/hooks/pre-commit", "sub/.git", ".vscode/tasks.json", ".hg/hgrc", ".github/workflows/ci.yml",
     ".gitlab-ci.yml", "Jenkinsfile", ".mcp.json", "CLAUDE.md", "sub/AGENTS.md", "Gemini.md", ".cursorrules",
     ".pre-commit-config.yaml", "lefthook.yml", ".venv/bin/activate", "lib/x.pth", "node_modules/.bin/eslint",
     ".tool-versions", ".zshrc", "sitecustomize.py", ".zed/tasks.json", ".kiro/steering/x.md", ".c\u200bursorrules",
     ".envrc", "sub/.npmrc", ".cargo/config.toml", ".Rprofile", ".pdbrc", ".mvn/extensions.xml", ".gitpod.yml",
     ".pnpmfile.cjs", "bunfig.toml", "a.code-workspace", ".config/mise/config.toml", "WARP.md", ".tekton/run.yaml"],
)  # fmt: skip
def test_what_steers_other_programs_is_protected(project, name):
    assert protected_root(project / name) is not None


OBEYED_ELSEWHERE = {
    "hooks": ("tools/hooks/pre-commit", "[core]\n\thooksPath = tools/hooks\n"),
    "settings": (".gitlocal", "[include]\n\tpath = ../.gitlocal\n"),
    "in other letters": ("tools/hooks/pre-commit", '[core]\nHOOKSPATH="./tools/../tools/hooks"\n'),
    "link": ("docs/guide.md", ""),
    "folder behind a link": ("ci/workflows/x.yml", ""),
    "head": ("bare/HEAD", ""),
    "objects": ("half/objects/x", ""),
    "hook of a bare one": ("whole/hooks/x", ""),
}


@pytest.mark.parametrize("case", OBEYED_ELSEWHERE)
def test_what_git_or_a_link_leads_to_is_protected_under_any_name(project, case):
    name, settings = OBEYED_ELSEWHERE[case]
    for folder in (".git", "docs", "bare/objects", "bare/refs", "half/refs", "whole/objects", "whole/refs"):
        (project / folder).mkdir(parents=True)
    for file in ("half/HEAD", "whole/HEAD", "docs/guide.md"):
        (project / file).touch()
    (project / ".git" / "config").write_text(settings)
    (project / "CLAUDE.md").symlink_to("docs/guide.md")
    (project / ".github").symlink_to("ci")
    assert protected_root(project / name) is not None
    assert protected_root(name, project) is not None
    for other in ("docs/other.md", "bare/config", "half/x", "tools/x", "whole/readme"):
        assert protected_root(other, project) is None


@pytest.mark.parametrize("name", [".gitignore", "git/config", "src/a.py", "Makefile", "README.md", "docs/agents"])
def test_other_files_are_not_protected(project, name):
    assert protected_root(project / name) is None


def test_directories_that_are_no_projects(user_home, project):
    (user_home / ".config").mkdir()
    (user_home / "work").mkdir()
    assert is_private_directory(user_home)
    assert is_private_directory(user_home.parent)
    assert is_private_directory(user_home / ".config")
    assert is_private_directory(project.joinpath("/"))
    assert not is_private_directory(user_home / "work")
    assert not is_private_directory(project)


NAMES_OF_KEYS = """
    .1password .aws .azure .bitcoin .docker .electrum .ethereum .gcloud .gnupg .kube .mozilla .oci .password-store .pki
    .putty .ssh .terraform.d .thunderbird
    _netrc .boto .dockercfg .dockerconfigjson .envrc .git-credentials .htpasswd .my.cnf .netrc .npmrc .pgpass .pypirc
    .s3cfg .terraformrc .vault-token application_default_credentials.json credentials token.json key4.db logins.json
    secring.gpg
    x.env x.jks x.kdbx x.key x.keystore x.p12 x.pem x.pfx x.ppk x.tfstate x.tfstate.backup
    .env.x .env_x .env-x id_rsa id_dsa id_ecdsa id_ed25519 id_xmss id_ecdsa_sk id_rsa.old id_rsa_old id_rsa-old
    ssh_host_x_key credential.json credentials.yml secret.yaml secrets.toml secrets.ini secrets.cfg secrets.conf
    secrets.csv secrets.xml secrets.properties secrets.db clientsecret.json client_secrets_x.json serviceaccount.json
    service_account_x.json .python_history .x_y_history myca.pem ca-key.pem
""".split()  # noqa: SIM905  # easier to read and to extend
NAMES_OF_NONE = """
    aws .awsx netrc .netrc.bak env .environment pem xpem key x.keys id_rsab id_rsa2 ssh_host_key credentials.js
    secretss.json client.json service.json history .historyx ca.pem cert.pem chain.pem fullchain.pem ca-certs.pem
    ca.cert.pem cert_bundle.pem cacertificates.pem x.pem.pub .env.example .env.schema .env-tmpl .env.dist.local
    sample-.env sample.x.env
""".split()  # noqa: SIM905  # easier to read and to extend
STEERING = ".agents .bzr .claude .codex .cursor .devcontainer .gemini .git .hg .husky .idea .oneclaw .svn .vscode"


def test_each_name_of_keys_is_hidden_in_any_letters():
    for name in NAMES_OF_KEYS:
        assert is_hidden_name(name), name
        assert is_hidden_name(name.upper()), name
    for name in NAMES_OF_NONE:
        assert not is_hidden_name(name), name


@pytest.mark.long
def test_each_folder_that_steers_other_programs_is_protected(project):
    for name in STEERING.split():
        assert protected_root(project / name / "a" / name) == project / name
        assert protected_root(project / name.upper()) == project / name.upper()
        assert protected_root(project / f"{name}x") is None


def test_what_the_system_keeps_secret_is_hidden_and_its_certificates_are_not():
    for place in ("/etc/gshadow", "/etc/shadow", "/etc/ssl/private", "/etc/sudoers"):
        assert hidden_root(place) is not None
        assert hidden_root(f"{place}/x") is not None
    for place in ("/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ssl/certs", "/usr/lib", "/usr/local/lib"):
        assert not is_hidden(f"{place}/a/some.PEM")
        assert is_hidden(f"{place}/a/some.key")
    for place in ("/usr/local/share", "/usr/share"):
        assert not is_hidden(f"{place}/some.pem")
    assert is_hidden("/usr/some.pem")
    assert is_hidden("/etc/shadows.pem")


def test_folders_of_programs_in_the_users_directory_are_hidden(user_home, tmp_path):
    for folder in ("Cookies", "Keychains", "Mail", "Messages", "Safari"):
        assert hidden_root(user_home / "Library" / folder / "x") == user_home / "Library" / folder
        assert not is_hidden(user_home / "other" / "Library" / folder / "x")
    for folder in ("Firefox", "Google"):
        place = user_home / "library" / "application support" / folder
        assert hidden_root(place / "x") == place
    assert not is_hidden(user_home / "Library" / "Fonts")
    assert not is_hidden(tmp_path / "users" / "adam" / ".config")
    assert hidden_root(str(user_home).upper() + "/.config/x") is not None


def test_without_a_users_directory_names_count(monkeypatch, project, tmp_path):
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert user_directory() is None
    assert is_hidden(project / ".env")
    assert not is_hidden(tmp_path / "users" / "ada" / ".config")
    assert not is_private_directory(project)
