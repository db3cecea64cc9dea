-- Parameters: version.
-- Result: none.
-- Promise: deletes every row of that version.
DELETE FROM rowlock_lease_version WHERE version_id = ?
