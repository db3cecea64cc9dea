-- Parameters: none.
-- Result: none.
-- Promise: if the table was copied from another kind of database, no lock is granted for longest_ttl_us, and for at most 14 days. The limit is safe, because the options permit no TTL and hand-over delay whose sum is more than 14 days. The column epoch gets a constant, because a file has no identity that a statement can read.
UPDATE rowlock_lease_meta
   SET epoch = 'sqlite',
       quarantined_until = CASE WHEN epoch = '' THEN quarantined_until
           ELSE max(quarantined_until, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + min(longest_ttl_us, 1209600000000)) END
 WHERE id = 1 AND epoch <> 'sqlite'
