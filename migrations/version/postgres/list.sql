-- Parameters: none.
-- Result: one row for each applied migration: version, seconds since 1970; the last one first.
-- Promise: reads only.
SELECT version_id, extract(epoch FROM tstamp::timestamptz)::bigint FROM rowlock_lease_version WHERE is_applied ORDER BY id DESC
