-- A database as version 1 of the schema made it, with one conversation in it.
CREATE TABLE schema_version (
    version INTEGER NOT NULL
);
CREATE TABLE sessions (
    id TEXT NOT NULL,
    name TEXT,
    title TEXT,
    agent TEXT NOT NULL,
    model TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);
CREATE INDEX sessions_by_update ON sessions (updated_at, id);
CREATE TABLE permissions (
    name TEXT NOT NULL,
    decision TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE settings (
    "key" TEXT NOT NULL,
    value TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY ("key")
);
CREATE TABLE tool_states (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    PRIMARY KEY (kind, name)
);
CREATE TABLE messages (
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    tool_call_id TEXT,
    tool_name TEXT,
    tool_input TEXT,
    tool_status TEXT,
    error_type TEXT,
    shown_characters BIGINT,
    duration_ms FLOAT,
    provider_data TEXT,
    created_at BIGINT NOT NULL,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX one_result_per_call ON messages (session_id, tool_call_id) WHERE type = 'tool_result';
CREATE INDEX pending_calls ON messages (session_id, tool_status, sequence) WHERE type = 'tool_call' AND tool_status = 'pending';
CREATE UNIQUE INDEX one_call_per_id ON messages (session_id, tool_call_id) WHERE type = 'tool_call';
CREATE INDEX group_loads ON messages (session_id, tool_name, sequence) WHERE type = 'tool_call' AND tool_name = 'load_tool_group' AND tool_status = 'success';
CREATE INDEX messages_by_session ON messages (session_id, sequence);
CREATE TABLE usage (
    id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens BIGINT,
    cached_input_tokens BIGINT,
    output_tokens BIGINT,
    reasoning_tokens BIGINT,
    cost FLOAT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX ix_usage_session_id ON usage (session_id);
PRAGMA application_id = 1329818743;
INSERT INTO schema_version VALUES (1);
INSERT INTO sessions VALUES
    ('0123456789abcdef0123456789abcdef', 'work', 'a title', 'default', 'openai/gpt', 1767225600000000, 1767225601000000);
INSERT INTO messages VALUES
    (1, '0123456789abcdef0123456789abcdef', 'user', 'read it', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     1767225600000000),
    (2, '0123456789abcdef0123456789abcdef', 'tool_call', '', 'c1', 'read_file', '{"path": "x"}', 'success', NULL, NULL,
     NULL, NULL, 1767225600000000),
    (4, '0123456789abcdef0123456789abcdef', 'tool_result', 'text', 'c1', 'read_file', NULL, 'success', NULL, NULL, 1.5,
     NULL, 1767225600000000),
    (5, '0123456789abcdef0123456789abcdef', 'assistant', 'it says text', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     '{"openai":{"id":1}}', 1767225601000000);
INSERT INTO usage VALUES
    (1, '0123456789abcdef0123456789abcdef', 'openai', 'gpt', 100, 60, 20, 5, 0.25, 1767225600000000),
    (2, '0123456789abcdef0123456789abcdef', 'openai', 'gpt', 130, NULL, 30, NULL, NULL, 1767225601000000);
INSERT INTO settings VALUES ('model', '"openai/gpt"', 1767225600000000);
INSERT INTO permissions VALUES ('network.private', 'grant', 1767225600000000);
INSERT INTO tool_states VALUES ('tool', 'web_fetch', 0);
