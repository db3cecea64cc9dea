-- Parameters: $1 version.
-- Result: none.
-- Promise: inserts one row.
INSERT INTO rowlock_lease_version (version_id, is_applied) VALUES ($1::bigint, true)
