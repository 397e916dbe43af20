-- The ledger: state of runs, metadata audit, feedback, runbooks, API keys.
-- Identifiers are compared byte by byte: `Call_1` and `call_1 ` are different ids. All times are UTC.

CREATE TABLE chat_session (
    session_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    caller     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- status: RUNNING, RELEASED (a body was published) or FAILED. outcome: SUCCESS, FALLBACK or FAILED, NULL while RUNNING.
-- reason: a fallback's reason code, a failure code, or ABANDONED.
CREATE TABLE diagnosis_run (
    run_id              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    session_id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    caller              VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    query               TEXT NOT NULL,
    status              VARCHAR(16) NOT NULL,
    intent              VARCHAR(32) NULL,
    outcome             VARCHAR(16) NULL,
    reason              VARCHAR(64) NULL,
    conclusion          TEXT NULL,
    body                MEDIUMTEXT NULL,
    cites               MEDIUMTEXT NULL,
    limit_model_calls   BIGINT NOT NULL,
    limit_tool_calls    BIGINT NOT NULL,
    limit_input_tokens  BIGINT NOT NULL,
    limit_output_tokens BIGINT NOT NULL,
    limit_tool_bytes    BIGINT NOT NULL,
    used_model_calls    BIGINT NOT NULL DEFAULT 0,
    used_tool_calls     BIGINT NOT NULL DEFAULT 0,
    used_input_tokens   BIGINT NOT NULL DEFAULT 0,
    used_output_tokens  BIGINT NOT NULL DEFAULT 0,
    used_tool_bytes     BIGINT NOT NULL DEFAULT 0,
    ungrounded_literals BIGINT NOT NULL DEFAULT 0,
    repaired            BOOLEAN NOT NULL DEFAULT FALSE,
    started_at          DATETIME(6) NOT NULL,
    deadline            DATETIME(6) NOT NULL,
    ended_at            DATETIME(6) NULL,
    KEY diagnosis_run_session (session_id, run_id),
    KEY diagnosis_run_sweep (status, deadline)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE agent_step (
    run_id          CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sequence        BIGINT NOT NULL,
    kind            VARCHAR(32) NOT NULL,
    model           VARCHAR(128) NOT NULL,
    message_count   BIGINT NOT NULL,
    message_roles   VARCHAR(512) NOT NULL,
    has_text        BOOLEAN NOT NULL,
    tool_names      VARCHAR(512) NOT NULL,
    input_tokens    BIGINT NOT NULL,
    output_tokens   BIGINT NOT NULL,
    usage_estimated BOOLEAN NOT NULL,
    duration_ms     BIGINT NOT NULL,
    attempt         BIGINT NOT NULL,
    error_code      VARCHAR(64) NULL,
    started_at      DATETIME(6) NOT NULL,
    PRIMARY KEY (run_id, sequence)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE tool_invocation (
    run_id          CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sequence        BIGINT NOT NULL,
    tool_call_id    VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    tool            VARCHAR(32) NULL,
    status          VARCHAR(16) NOT NULL,
    evidence_status VARCHAR(16) NULL,
    error_code      VARCHAR(64) NULL,
    duration_ms     BIGINT NOT NULL,
    request_bytes   BIGINT NOT NULL,
    result_bytes    BIGINT NOT NULL,
    started_at      DATETIME(6) NOT NULL,
    PRIMARY KEY (run_id, sequence)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE feedback (
    run_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    caller     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    rating     VARCHAR(8) NOT NULL,
    reason     VARCHAR(64) NULL,
    comment    VARCHAR(2000) NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (run_id, caller)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A removed document stays as an empty row, so that its version never repeats and old citations stay unambiguous.
CREATE TABLE document (
    document_id VARCHAR(128) NOT NULL PRIMARY KEY,
    version     BIGINT NOT NULL,
    removed     BOOLEAN NOT NULL DEFAULT FALSE,
    title       VARCHAR(512) NOT NULL,
    tags        TEXT NOT NULL,
    source      VARCHAR(2048) NOT NULL,
    content     MEDIUMTEXT NOT NULL,
    updated_at  DATETIME(6) NOT NULL,
    KEY document_revision (version, removed)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE document_chunk (
    document_id  VARCHAR(128) NOT NULL,
    ordinal      BIGINT NOT NULL,
    section_path VARCHAR(2048) NOT NULL,
    content      MEDIUMTEXT NOT NULL,
    PRIMARY KEY (document_id, ordinal),
    CONSTRAINT document_chunk_document FOREIGN KEY (document_id) REFERENCES document (document_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- key_hash: SHA-256 of the key, hexadecimal; the key itself is stored nowhere. NULL limits mean the deployment's defaults.
CREATE TABLE api_key (
    key_id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    key_hash        CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name            VARCHAR(128) NOT NULL,
    scopes          VARCHAR(512) NOT NULL,
    concurrent_runs BIGINT NULL,
    runs_per_minute BIGINT NULL,
    tokens_per_day  BIGINT NULL,
    created_at      DATETIME(6) NOT NULL,
    expires_at      DATETIME(6) NULL,
    revoked_at      DATETIME(6) NULL,
    UNIQUE KEY api_key_hash (key_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
