-- A database as version 4 of the schema made it on PostgreSQL, with one conversation in it, as pg_dump shows it.
CREATE SCHEMA oneclaw;
CREATE FUNCTION oneclaw.queue_for_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO search_queue (sequence) VALUES (NEW.sequence); RETURN NULL; END $$;
CREATE TABLE oneclaw.agents (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    name_key text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    system_prompt text NOT NULL COLLATE pg_catalog."C",
    model text COLLATE pg_catalog."C",
    parameters text NOT NULL COLLATE pg_catalog."C",
    max_tool_rounds bigint,
    turn_max_tokens bigint,
    turn_max_cost double precision,
    selected_tools text COLLATE pg_catalog."C",
    selected_groups text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE oneclaw.attachments (
    message_sequence bigint NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    media_type text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL
);
CREATE TABLE oneclaw.message_search (
    sequence bigint NOT NULL,
    terms tsvector NOT NULL
);
CREATE TABLE oneclaw.messages (
    sequence bigint NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C",
    tool_call_id text COLLATE pg_catalog."C",
    tool_name text COLLATE pg_catalog."C",
    tool_input text COLLATE pg_catalog."C",
    tool_status text COLLATE pg_catalog."C",
    error_type text COLLATE pg_catalog."C",
    shown_characters bigint,
    duration_ms double precision,
    provider_data text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    attachment_count integer
);
CREATE SEQUENCE oneclaw.messages_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE oneclaw.messages_sequence_seq OWNED BY oneclaw.messages.sequence;
CREATE TABLE oneclaw.permissions (
    name text NOT NULL COLLATE pg_catalog."C",
    decision text NOT NULL COLLATE pg_catalog."C",
    updated_at bigint NOT NULL
);
CREATE TABLE oneclaw.schema_version (
    version integer NOT NULL
);
CREATE TABLE oneclaw.search_queue (
    sequence bigint NOT NULL
);
CREATE TABLE oneclaw.search_state (
    indexed_until bigint NOT NULL
);
CREATE TABLE oneclaw.session_search (
    session_id text NOT NULL COLLATE pg_catalog."C",
    terms tsvector NOT NULL
);
CREATE TABLE oneclaw.sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    title text COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    model text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    summary text COLLATE pg_catalog."C",
    summary_until bigint,
    parent_id text COLLATE pg_catalog."C",
    memory text COLLATE pg_catalog."C",
    search_number bigint
);
CREATE TABLE oneclaw.settings (
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    updated_at bigint NOT NULL
);
CREATE TABLE oneclaw.tool_states (
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    enabled boolean NOT NULL
);
CREATE TABLE oneclaw.usage (
    id bigint NOT NULL,
    session_id text COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    input_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    cost double precision,
    tool_groups text COLLATE pg_catalog."C",
    tools_hash text COLLATE pg_catalog."C",
    system_hash text COLLATE pg_catalog."C",
    history_hash text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE SEQUENCE oneclaw.usage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE oneclaw.usage_id_seq OWNED BY oneclaw.usage.id;
ALTER TABLE ONLY oneclaw.messages ALTER COLUMN sequence SET DEFAULT nextval('oneclaw.messages_sequence_seq'::regclass);
ALTER TABLE ONLY oneclaw.usage ALTER COLUMN id SET DEFAULT nextval('oneclaw.usage_id_seq'::regclass);
INSERT INTO oneclaw.messages VALUES (1, '0123456789abcdef0123456789abcdef', 'user', 'read it', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795269933105188, NULL);
INSERT INTO oneclaw.messages VALUES (2, '0123456789abcdef0123456789abcdef', 'tool_call', '', '1', 'read_file', '{}', 'success', NULL, NULL, NULL, NULL, 1795269933105188, NULL);
INSERT INTO oneclaw.messages VALUES (3, '0123456789abcdef0123456789abcdef', 'tool_result', 'text', '1', 'read_file', NULL, 'success', NULL, NULL, 1.5, NULL, 1795269933105188, NULL);
INSERT INTO oneclaw.messages VALUES (4, '0123456789abcdef0123456789abcdef', 'assistant', 'it says text', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795269933105188, NULL);
INSERT INTO oneclaw.schema_version VALUES (4);
INSERT INTO oneclaw.search_queue VALUES (1);
INSERT INTO oneclaw.search_queue VALUES (4);
INSERT INTO oneclaw.sessions VALUES ('0123456789abcdef0123456789abcdef', 'work', 'a title', 'default', 'openai/gpt', 1795269933101148, 1795269933105188, NULL, NULL, NULL, NULL, NULL);
INSERT INTO oneclaw.settings VALUES ('model', '"openai/gpt"', 1795269933123149);
INSERT INTO oneclaw.usage VALUES (1, '0123456789abcdef0123456789abcdef', 'openai', 'gpt', 100, NULL, NULL, NULL, NULL, NULL, '[]', NULL, NULL, NULL, 1795269933118403);
SELECT pg_catalog.setval('oneclaw.messages_sequence_seq', 4, true);
SELECT pg_catalog.setval('oneclaw.usage_id_seq', 1, true);
ALTER TABLE ONLY oneclaw.agents
    ADD CONSTRAINT agents_name_key_key UNIQUE (name_key);
ALTER TABLE ONLY oneclaw.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);
ALTER TABLE ONLY oneclaw.attachments
    ADD CONSTRAINT attachments_pkey PRIMARY KEY (message_sequence, "position");
ALTER TABLE ONLY oneclaw.message_search
    ADD CONSTRAINT message_search_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY oneclaw.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY oneclaw.permissions
    ADD CONSTRAINT permissions_pkey PRIMARY KEY (name);
ALTER TABLE ONLY oneclaw.search_queue
    ADD CONSTRAINT search_queue_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY oneclaw.session_search
    ADD CONSTRAINT session_search_pkey PRIMARY KEY (session_id);
ALTER TABLE ONLY oneclaw.sessions
    ADD CONSTRAINT sessions_name_key UNIQUE (name);
ALTER TABLE ONLY oneclaw.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY oneclaw.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (key);
ALTER TABLE ONLY oneclaw.tool_states
    ADD CONSTRAINT tool_states_pkey PRIMARY KEY (kind, name);
ALTER TABLE ONLY oneclaw.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (id);
CREATE INDEX group_loads ON oneclaw.messages USING btree (session_id, tool_name, sequence) WHERE ((type = 'tool_call'::text) AND (tool_name = 'load_tool_group'::text) AND (tool_status = 'success'::text));
CREATE INDEX ix_usage_session_id ON oneclaw.usage USING btree (session_id);
CREATE INDEX message_search_terms ON oneclaw.message_search USING gin (terms) WITH (fastupdate=off);
CREATE INDEX messages_by_session ON oneclaw.messages USING btree (session_id, sequence);
CREATE UNIQUE INDEX one_call_per_id ON oneclaw.messages USING btree (session_id, tool_call_id) WHERE (type = 'tool_call'::text);
CREATE UNIQUE INDEX one_result_per_call ON oneclaw.messages USING btree (session_id, tool_call_id) WHERE (type = 'tool_result'::text);
CREATE INDEX pending_calls ON oneclaw.messages USING btree (session_id, tool_status, sequence) WHERE ((type = 'tool_call'::text) AND (tool_status = 'pending'::text));
CREATE INDEX session_search_terms ON oneclaw.session_search USING gin (terms);
CREATE INDEX sessions_by_parent ON oneclaw.sessions USING btree (parent_id);
CREATE UNIQUE INDEX sessions_by_search_number ON oneclaw.sessions USING btree (search_number);
CREATE INDEX sessions_by_update ON oneclaw.sessions USING btree (updated_at, id);
CREATE INDEX usage_by_time ON oneclaw.usage USING btree (created_at, input_tokens, output_tokens, cost);
CREATE TRIGGER queue_for_search AFTER INSERT ON oneclaw.messages FOR EACH ROW WHEN (((new.type = ANY (ARRAY['user'::text, 'assistant'::text])) AND (new.content <> ''::text))) EXECUTE FUNCTION oneclaw.queue_for_search();
ALTER TABLE ONLY oneclaw.attachments
    ADD CONSTRAINT attachments_message_sequence_fkey FOREIGN KEY (message_sequence) REFERENCES oneclaw.messages(sequence) ON DELETE CASCADE;
ALTER TABLE ONLY oneclaw.message_search
    ADD CONSTRAINT message_search_sequence_fkey FOREIGN KEY (sequence) REFERENCES oneclaw.messages(sequence) ON DELETE CASCADE;
ALTER TABLE ONLY oneclaw.messages
    ADD CONSTRAINT messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES oneclaw.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY oneclaw.search_queue
    ADD CONSTRAINT search_queue_sequence_fkey FOREIGN KEY (sequence) REFERENCES oneclaw.messages(sequence) ON DELETE CASCADE;
ALTER TABLE ONLY oneclaw.session_search
    ADD CONSTRAINT session_search_session_id_fkey FOREIGN KEY (session_id) REFERENCES oneclaw.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY oneclaw.sessions
    ADD CONSTRAINT sessions_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES oneclaw.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY oneclaw.usage
    ADD CONSTRAINT usage_session_id_fkey FOREIGN KEY (session_id) REFERENCES oneclaw.sessions(id) ON DELETE SET NULL;
