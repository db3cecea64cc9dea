-- Parameters: none.
-- Result: none.
-- Promise: nothing is granted for one longest TTL if the table comes from elsewhere; a file has no other identity than to be this file. No longer than 14 days, whatever the row says: no lock is closed for longer, which is the longest TTL and the longest hand-over delay of the options.
UPDATE rowlock_lease_meta
   SET epoch = 'sqlite',
       quarantined_until = CASE WHEN epoch = '' THEN quarantined_until
           ELSE max(quarantined_until, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + min(longest_ttl_us, 1209600000000)) END
 WHERE id = 1 AND epoch <> 'sqlite'
