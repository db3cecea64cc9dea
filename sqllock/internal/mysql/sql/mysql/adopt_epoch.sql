-- Parameters: none.
-- Result: one row changed if the column epoch identifies another server.
-- Promise: after a change of server, no lock is granted for longest_ttl_us, and for at most 14 days. The limit is safe, because the options permit no TTL and hand-over delay whose sum is more than 14 days. The expression for quarantined_until reads the old value of the column epoch.
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET quarantined_until = IF(epoch = x'', quarantined_until,
           GREATEST(quarantined_until, UTC_TIMESTAMP(6) + INTERVAL LEAST(longest_ttl_us, 1209600000000) MICROSECOND)),
       epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */
 WHERE id = 1 AND epoch <> /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */
