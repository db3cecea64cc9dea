-- Parameters: version.
-- Result: none.
-- Promise: one row, also when two processes insert it at once.
INSERT INTO rowlock_lease_version (version_id, is_applied) SELECT ?1, TRUE WHERE NOT EXISTS (SELECT 1 FROM rowlock_lease_version WHERE version_id = ?1)
