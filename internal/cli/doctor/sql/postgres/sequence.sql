-- Parameters: none.
-- Result: one row of a name and a value: whether this user may use the sequence of the tokens of advisory locks, or that it is missing.
-- Promise: reads only.
SELECT 'sequence', coalesce(has_sequence_privilege(to_regclass('rowlock_lease_token')::oid, 'USAGE, UPDATE')::text, 'missing')
