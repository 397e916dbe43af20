-- What a model call's tokens were, and what they cost in billionths of a dollar (NULL: no price is known).

ALTER TABLE agent_step ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_step ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_step ADD COLUMN cost_nano_usd INTEGER NULL;
