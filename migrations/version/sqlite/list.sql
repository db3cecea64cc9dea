-- Parameters: none.
-- Result: one row for each applied migration: version, seconds since 1970; the last one first.
-- Promise: reads only.
SELECT version_id, CAST(strftime('%s', tstamp) AS INTEGER) FROM rowlock_lease_version WHERE is_applied ORDER BY id DESC
