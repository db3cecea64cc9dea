-- Parameters: none.
-- Result: none.
-- Promise: nothing is granted for one longest TTL if the table was copied from another database, 14 days at most: the longest TTL and the longest hand-over delay that the options permit close a lock for so long. A file has no identity of its own, so the epoch is a constant.
UPDATE rowlock_lease_meta
   SET epoch = 'sqlite',
       quarantined_until = CASE WHEN epoch = '' THEN quarantined_until
           ELSE max(quarantined_until, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + min(longest_ttl_us, 1209600000000)) END
 WHERE id = 1 AND epoch <> 'sqlite'
