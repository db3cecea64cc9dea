-- Parameters: none.
-- Result: none.
-- Promise: if the table was copied from another kind of database, nothing is granted for the longest TTL so far, at most 14 days. That limit is the sum of the longest TTL and the longest hand-over delay that the options permit. A file has no identity that a statement can read, so the epoch is a constant.
UPDATE rowlock_lease_meta
   SET epoch = 'sqlite',
       quarantined_until = CASE WHEN epoch = '' THEN quarantined_until
           ELSE max(quarantined_until, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + min(longest_ttl_us, 1209600000000)) END
 WHERE id = 1 AND epoch <> 'sqlite'
