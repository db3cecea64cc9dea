-- Parameters: $1 version.
-- Result: none.
-- Promise: deletes every row with this version.
DELETE FROM rowlock_lease_version WHERE version_id = $1::bigint
