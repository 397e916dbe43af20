-- What all model calls of a run cost, in billionths of a dollar (NULL: the price of one is not known).

ALTER TABLE diagnosis_run
    ADD COLUMN cost_nano_usd BIGINT NULL;
