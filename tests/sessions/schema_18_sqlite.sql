-- The tables of a new SQLite database of version 18, as SQLite shows them.
CREATE TABLE agents (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    description TEXT NOT NULL,
    system_prompt TEXT NOT NULL,
    model TEXT,
    parameters TEXT NOT NULL,
    max_tool_rounds BIGINT,
    turn_max_tokens BIGINT,
    turn_max_cost FLOAT,
    selected_tools TEXT,
    selected_groups TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name_key)
);
CREATE TABLE attachments (
    message_sequence BIGINT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    data BLOB NOT NULL,
    is_for_user BOOLEAN,
    PRIMARY KEY (message_sequence, position),
    FOREIGN KEY(message_sequence) REFERENCES messages (sequence) ON DELETE CASCADE
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
    attachment_count INTEGER,
    is_json BOOLEAN,
    is_incomplete BOOLEAN,
    marks TEXT,
    model TEXT,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE TABLE schema_version (
    version INTEGER NOT NULL
);
CREATE TABLE search_state (
    indexed_until BIGINT NOT NULL
);
CREATE TABLE sessions (
    id TEXT NOT NULL,
    name TEXT,
    title TEXT,
    agent TEXT NOT NULL,
    model TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    summary TEXT,
    summary_until BIGINT,
    parent_id TEXT,
    memory TEXT,
    prompt_lists TEXT,
    search_number BIGINT,
    lock_token BIGINT,
    marks TEXT,
    directory TEXT,
    ended_from BIGINT,
    PRIMARY KEY (id),
    UNIQUE (name),
    FOREIGN KEY(parent_id) REFERENCES sessions (id) ON DELETE CASCADE
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
CREATE TABLE usage (
    id INTEGER NOT NULL,
    session_id TEXT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens BIGINT,
    cached_input_tokens BIGINT,
    cache_write_tokens BIGINT,
    output_tokens BIGINT,
    reasoning_tokens BIGINT,
    cost FLOAT,
    tool_groups TEXT,
    tools_hash TEXT,
    system_hash TEXT,
    history_hash TEXT,
    created_at BIGINT NOT NULL,
    is_at_least BOOLEAN,
    PRIMARY KEY (id),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE SET NULL
);
CREATE VIRTUAL TABLE message_search USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii');
CREATE VIRTUAL TABLE session_search USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii');
CREATE INDEX group_loads ON messages (session_id, tool_name, sequence) WHERE type = 'tool_call' AND tool_name = 'load_tool_group' AND tool_status = 'success';
CREATE INDEX ix_usage_session_id ON usage (session_id);
CREATE INDEX messages_by_session ON messages (session_id, sequence);
CREATE INDEX pending_calls ON messages (session_id, tool_status, sequence) WHERE type = 'tool_call' AND tool_status = 'pending';
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_by_update ON sessions (updated_at, id);
CREATE INDEX usage_by_time ON usage (created_at, input_tokens, output_tokens, cost);
CREATE UNIQUE INDEX calls_and_results ON messages (session_id, tool_call_id, type)
    WHERE type = 'tool_call' OR type = 'tool_result';
CREATE UNIQUE INDEX sessions_by_search_number ON sessions (search_number);
CREATE TABLE grants (
    id INTEGER NOT NULL,
    permission TEXT NOT NULL,
    pattern TEXT NOT NULL,
    agent TEXT NOT NULL,
    task TEXT NOT NULL,
    directory TEXT NOT NULL,
    decision TEXT NOT NULL,
    expires_at BIGINT,
    source TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX one_grant ON grants (permission, pattern, agent, task, directory);
CREATE TABLE permission_log (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    permission TEXT NOT NULL,
    subject TEXT,
    detail TEXT,
    tool_name TEXT NOT NULL,
    is_granted BOOLEAN NOT NULL,
    decided_by TEXT NOT NULL,
    session_id TEXT,
    agent TEXT,
    task TEXT,
    directory TEXT,
    at BIGINT NOT NULL
);
CREATE TABLE written_files (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    is_directory BOOLEAN NOT NULL,
    started_ns BIGINT NOT NULL,
    ended_ns BIGINT NOT NULL,
    marks TEXT NOT NULL
);
CREATE INDEX written_files_by_path ON written_files (path, is_directory, started_ns);
CREATE TABLE script_calls (
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    key TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    number INTEGER NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    state TEXT NOT NULL,
    result TEXT,
    error_type TEXT,
    marks TEXT,
    duration_ms FLOAT,
    PRIMARY KEY (session_id, call_id, key, occurrence),
    FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
