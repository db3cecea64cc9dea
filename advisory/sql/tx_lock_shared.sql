-- Parameters: $1 key.
-- Result: one row: whether the transaction has the lock, and what the server says it is.
-- Promise: one try, which waits for nobody; a refusal leaves the transaction usable; the lock ends with the transaction.
SELECT pg_try_advisory_xact_lock_shared($1::bigint) AS locked, pg_catalog.version() AS version
