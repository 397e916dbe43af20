-- What a model call's tokens were, and what they cost in billionths of a dollar (NULL: no price is known).

ALTER TABLE agent_step
    ADD COLUMN cached_tokens    BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN cost_nano_usd    BIGINT NULL;
