-- The ledger: state of runs, metadata audit, feedback, runbooks, API keys.
-- Identifiers are compared byte by byte: `Call_1` and `call_1 ` are different ids. All times are UTC text
-- (`YYYY-MM-DD hh:mm:ss.f`), which sorts as time does.

CREATE TABLE chat_session (
    session_id TEXT NOT NULL PRIMARY KEY,
    caller     TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

-- status: RUNNING, RELEASED (a body was published) or FAILED. outcome: SUCCESS, FALLBACK or FAILED, NULL while RUNNING.
-- reason: a fallback's reason code, a failure code, or ABANDONED.
CREATE TABLE diagnosis_run (
    run_id              TEXT NOT NULL PRIMARY KEY,
    session_id          TEXT NOT NULL,
    caller              TEXT NOT NULL,
    query               TEXT NOT NULL,
    status              TEXT NOT NULL,
    intent              TEXT NULL,
    outcome             TEXT NULL,
    reason              TEXT NULL,
    conclusion          TEXT NULL,
    body                TEXT NULL,
    cites               TEXT NULL,
    limit_model_calls   INTEGER NOT NULL,
    limit_tool_calls    INTEGER NOT NULL,
    limit_input_tokens  INTEGER NOT NULL,
    limit_output_tokens INTEGER NOT NULL,
    limit_tool_bytes    INTEGER NOT NULL,
    used_model_calls    INTEGER NOT NULL DEFAULT 0,
    used_tool_calls     INTEGER NOT NULL DEFAULT 0,
    used_input_tokens   INTEGER NOT NULL DEFAULT 0,
    used_output_tokens  INTEGER NOT NULL DEFAULT 0,
    used_tool_bytes     INTEGER NOT NULL DEFAULT 0,
    ungrounded_literals INTEGER NOT NULL DEFAULT 0,
    repaired            INTEGER NOT NULL DEFAULT 0,
    started_at          TEXT NOT NULL,
    deadline            TEXT NOT NULL,
    ended_at            TEXT NULL
) STRICT;

CREATE TABLE agent_step (
    run_id          TEXT NOT NULL,
    sequence        INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    model           TEXT NOT NULL,
    message_count   INTEGER NOT NULL,
    message_roles   TEXT NOT NULL,
    has_text        INTEGER NOT NULL,
    tool_names      TEXT NOT NULL,
    input_tokens    INTEGER NOT NULL,
    output_tokens   INTEGER NOT NULL,
    usage_estimated INTEGER NOT NULL,
    duration_ms     INTEGER NOT NULL,
    attempt         INTEGER NOT NULL,
    error_code      TEXT NULL,
    started_at      TEXT NOT NULL,
    PRIMARY KEY (run_id, sequence)
) STRICT;

CREATE TABLE tool_invocation (
    run_id          TEXT NOT NULL,
    sequence        INTEGER NOT NULL,
    tool_call_id    TEXT NOT NULL,
    tool            TEXT NULL,
    status          TEXT NOT NULL,
    evidence_status TEXT NULL,
    error_code      TEXT NULL,
    duration_ms     INTEGER NOT NULL,
    request_bytes   INTEGER NOT NULL,
    result_bytes    INTEGER NOT NULL,
    started_at      TEXT NOT NULL,
    PRIMARY KEY (run_id, sequence)
) STRICT;

CREATE TABLE feedback (
    run_id     TEXT NOT NULL,
    caller     TEXT NOT NULL,
    rating     TEXT NOT NULL,
    reason     TEXT NULL,
    comment    TEXT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (run_id, caller)
) STRICT;

-- A removed document stays as an empty row, so that its version never repeats and old citations stay unambiguous.
CREATE TABLE document (
    document_id TEXT NOT NULL PRIMARY KEY,
    version     INTEGER NOT NULL,
    removed     INTEGER NOT NULL DEFAULT 0,
    title       TEXT NOT NULL,
    tags        TEXT NOT NULL,
    source      TEXT NOT NULL,
    content     TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;

CREATE TABLE document_chunk (
    document_id  TEXT NOT NULL,
    ordinal      INTEGER NOT NULL,
    section_path TEXT NOT NULL,
    content      TEXT NOT NULL,
    PRIMARY KEY (document_id, ordinal),
    CONSTRAINT document_chunk_document FOREIGN KEY (document_id) REFERENCES document (document_id) ON DELETE CASCADE
) STRICT;

-- key_hash: SHA-256 of the key, hexadecimal; the key itself is stored nowhere. NULL limits mean the deployment's defaults.
CREATE TABLE api_key (
    key_id          TEXT NOT NULL PRIMARY KEY,
    key_hash        TEXT NOT NULL,
    name            TEXT NOT NULL,
    scopes          TEXT NOT NULL,
    concurrent_runs INTEGER NULL,
    runs_per_minute INTEGER NULL,
    tokens_per_day  INTEGER NULL,
    created_at      TEXT NOT NULL,
    expires_at      TEXT NULL,
    revoked_at      TEXT NULL,
    UNIQUE (key_hash)
) STRICT;

CREATE INDEX diagnosis_run_session ON diagnosis_run (session_id, run_id);
CREATE INDEX diagnosis_run_sweep ON diagnosis_run (status, deadline);
CREATE INDEX document_revision ON document (version, removed);
