-- Parameters: in this order: the longer of TTL + hand-over delay and minimum hold of the new grant; namespace; name; the new nonce; of the grant that ends: nonce, token, minimum hold; the new nonce, twice; of the new grant: holder, note; the new nonce; of the new grant: TTL, TTL + hand-over delay; the new nonce; of the new grant: minimum hold. Durations are in microseconds. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the token, or 0 if nothing was handed over. In that case hand_over_refused.sql reads the reason.
-- Promise: ends the old grant and makes the new grant, with a larger token, or writes nothing. It waits for no other transaction. The queue does not change. The selected row exists already, so nothing is inserted. The new values are computed from the selected row (l), so the order of the assignments does not matter.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
SELECT l.namespace, l.name, 0, x'', x'', l.acquired_at, l.expires_at, l.held_until
  FROM rowlock_lease_meta AS m
  JOIN rowlock_lease AS l
    ON m.id = 1 AND m.epoch = @@server_uuid AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= ?
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND (l.nonce = ?
        OR l.nonce = ? AND l.token = ? AND l.expires_at > UTC_TIMESTAMP(6)
           AND l.acquired_at + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6))
   AND @@autocommit = 1
   FOR UPDATE OF l SKIP LOCKED
   FOR SHARE OF m SKIP LOCKED
    ON DUPLICATE KEY UPDATE
       token = LAST_INSERT_ID(IF(l.nonce = ?, l.token, GREATEST(
           l.token + 1, m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))),
       nonce = ?,
       holder = CONVERT(FROM_BASE64(?) USING utf8mb4),
       note = CONVERT(FROM_BASE64(?) USING utf8mb4),
       acquired_at = IF(l.nonce = ?, l.acquired_at, UTC_TIMESTAMP(6)),
       expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
           IF(l.nonce = ?, l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND)
