-- Parameters: none.
-- Result: none.
-- Promise: nothing is granted for one longest TTL if the table comes from elsewhere; a file has no other identity than to be this file.
UPDATE rowlock_lease_meta
   SET epoch = 'sqlite',
       quarantined_until = CASE WHEN epoch = '' THEN quarantined_until
           ELSE max(quarantined_until, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + longest_ttl_us) END
 WHERE id = 1 AND epoch <> 'sqlite'
