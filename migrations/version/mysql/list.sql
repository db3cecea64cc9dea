-- Parameters: none.
-- Result: one row for each applied migration: its version, and the time when it was applied in seconds since 1970; the newest migration first.
-- Promise: reads only.
SELECT version_id, CAST(UNIX_TIMESTAMP(tstamp) AS SIGNED) FROM rowlock_lease_version WHERE is_applied ORDER BY id DESC
