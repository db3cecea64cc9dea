-- Parameters: in this order: the new nonce, three times; of the new grant: holder, note, TTL, TTL + hand-over delay, minimum hold; namespace; name; the new nonce; of the grant that ends: nonce, token, minimum hold; namespace; name; the new nonce; the nonce of the grant that ends; the longer of TTL + hand-over delay and minimum hold of the new grant. Durations are in microseconds. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the token, or 0 if nothing was handed over. In that case hand_over_refused.sql reads the reason.
-- Promise: ends the old grant and makes the new grant, with a larger token, or writes nothing. It waits for no other transaction. The queue does not change. Assignments are evaluated from left to right.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET token = LAST_INSERT_ID(IF(nonce = ?, token, GREATEST(
           token + 1,
           COALESCE((SELECT m.floor + 1 FROM rowlock_lease_meta AS m WHERE m.id = 1 FOR SHARE SKIP LOCKED), 0),
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))),
       acquired_at = IF(nonce = ?, acquired_at, UTC_TIMESTAMP(6)),
       nonce = ?,
       holder = CONVERT(FROM_BASE64(?) USING utf8mb4),
       note = CONVERT(FROM_BASE64(?) USING utf8mb4),
       expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, acquired_at + INTERVAL ? MICROSECOND)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND (nonce = ?
        OR nonce = ? AND token = ? AND expires_at > UTC_TIMESTAMP(6)
           AND acquired_at + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6))
   AND (SELECT held.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
              AND (l.nonce = ? OR l.nonce = ?)
              AND @@autocommit = 1
              AND (SELECT m.id
                     FROM rowlock_lease_meta AS m
                    WHERE m.id = 1 AND m.epoch = @@server_uuid
                      AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= ?
                      FOR SHARE SKIP LOCKED) = 1
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS held) = 1
