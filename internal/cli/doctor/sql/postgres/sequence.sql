-- Parameters: none. Result: one row: a name, and a value about the sequence for the tokens of advisory locks:
-- true if this user may use the sequence, false if not, or missing. Promise: reads only.
SELECT 'sequence', coalesce(has_sequence_privilege(to_regclass('rowlock_lease_token')::oid, 'USAGE, UPDATE')::text, 'missing')
