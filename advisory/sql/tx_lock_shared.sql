-- Parameters: $1 key.
-- Result: one row: whether the transaction has the lock, and the server's version text.
-- Promise: makes one attempt without waiting. A refusal leaves the transaction usable. The lock ends with the transaction. If a writer has reserved the key, grants a share only to a session that has the lock already.
SELECT CASE WHEN pg_try_advisory_lock_shared(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int)
            THEN CASE WHEN pg_advisory_unlock_shared(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int)
                      THEN pg_try_advisory_xact_lock_shared($1::bigint) ELSE false END
            WHEN EXISTS (SELECT FROM pg_locks l
                          WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid = pg_backend_pid()
                            AND (l.classid::bigint << 32) | l.objid::bigint = $1::bigint)
            THEN pg_try_advisory_xact_lock_shared($1::bigint)
            ELSE false END AS locked,
       pg_catalog.version() AS version
