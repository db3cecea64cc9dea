-- Parameters: none.
-- Result: one row changed if the server is not the server seen last.
-- Promise: after a change of server nothing is granted for the longest TTL so far, at most 14 days. That limit is the sum of the longest TTL and the longest hand-over delay that the options permit. Assignments are evaluated from left to right.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET quarantined_until = IF(epoch = x'', quarantined_until,
           GREATEST(quarantined_until, UTC_TIMESTAMP(6) + INTERVAL LEAST(longest_ttl_us, 1209600000000) MICROSECOND)),
       epoch = @@server_uuid
 WHERE id = 1 AND epoch <> @@server_uuid
