-- Parameters: version.
-- Result: none.
-- Promise: inserts one row, even if two processes insert the same version at the same time.
INSERT INTO rowlock_lease_version (version_id, is_applied) SELECT ?1, TRUE WHERE NOT EXISTS (SELECT 1 FROM rowlock_lease_version WHERE version_id = ?1)
