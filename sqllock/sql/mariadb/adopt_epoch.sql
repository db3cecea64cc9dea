-- Parameters: none.
-- Result: one row changed if the server is not the one seen last.
-- Promise: after a change of server nothing is granted for one longest TTL. Assignments are evaluated from left to right.
UPDATE rowlock_lease_meta
   SET quarantined_until = IF(epoch = '', quarantined_until,
           GREATEST(quarantined_until, UTC_TIMESTAMP(6) + INTERVAL longest_ttl_us MICROSECOND)),
       epoch = CONCAT(@@server_id, '@', @@hostname, ':', @@port)
 WHERE id = 1 AND epoch <> CONCAT(@@server_id, '@', @@hostname, ':', @@port)
