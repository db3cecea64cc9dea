-- Parameters: $1 key.
-- Result: one row: whether the transaction has the lock, and the server's version text.
-- Promise: makes one attempt without waiting. A refusal leaves the transaction usable. The lock ends with the transaction.
SELECT pg_try_advisory_xact_lock($1::bigint) AS locked, pg_catalog.version() AS version
