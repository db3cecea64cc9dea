-- Parameters: in this order: 1 if a share is requested, else 0; the longest time for which the grant could keep the lock unavailable, in microseconds; nonce; the path of the nonce among the shares; nonce; the id of this process in the queue, twice; namespace; name. Names are in base64.
-- Result: one row, or no row if the meta row is missing. The columns are: verdict, the reason why the lock is not granted ('contended' means that it could be granted); token, holder and note of the lock's current or last grant; since_us, the microseconds since that grant; free_in_us, the microseconds until the lock is free; ahead, the number of processes before this process in the queue; must_queue; queued, whether this process is in the queue; epoch, the identity of the server that answers; floor; must_reserve; readers, the expiry of each share in microseconds since 1970 under its nonce, as a JSON object, or an empty text; now_us, the time in microseconds since 1970. If must_queue is 1, this process must run wait.sql. If must_reserve is 1, a writer that waits must run reserve_for_writer.sql. The column must_queue is 1 if the lock is reserved, or held by others than readers that this request may join, and one of three cases applies. First, this process is not in the queue, and the queue has fewer than 400 processes. Second, this process is the first of the queue, and counts as waiting for less than 22 seconds more. Third, the first process no longer counts as waiting.
-- Promise: reads only, and waits for no other transaction.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       CASE WHEN s.autocommit = 0 THEN 'no autocommit'
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.free_in_us > 0 AND NOT s.mine AND NOT s.reserved_for_this AND NOT (s.asks_share AND s.shared) THEN
                 CASE WHEN s.reserved THEN 'reserved'
                      WHEN s.nonce IS NULL THEN 'min hold'
                      WHEN s.alive THEN 'leased'
                      ELSE 'handover' END
            WHEN s.asks_share AND s.writer_us > 0 AND NOT s.mine THEN 'reserved'
            WHEN s.quarantine_us > 0 THEN 'quarantine'
            WHEN NOT s.ttl_known THEN 'ttl'
            WHEN s.token IS NULL THEN 'missing'
            ELSE 'contended' END AS verdict,
       COALESCE(s.token, 0) AS token,
       COALESCE(s.holder, x'') AS holder,
       COALESCE(s.note, x'') AS note,
       IF(s.token > 0, s.since_us, 0) AS since_us,
       GREATEST(IF(s.asks_share AND s.shared, 0, COALESCE(s.free_in_us, 0)), IF(s.asks_share, COALESCE(s.writer_us, 0), 0), s.quarantine_us, 0) AS free_in_us,
       CASE WHEN s.waiting IS NULL OR s.next_gone THEN 0
            WHEN s.place > 0 THEN s.place - 1
            ELSE s.waiting END AS ahead,
       (s.nonce IS NOT NULL OR s.reserved) AND NOT (s.asks_share AND s.shared)
       AND CASE WHEN s.waiting IS NULL OR s.next_gone THEN 1
                WHEN s.place = 1 THEN s.next_due
                ELSE s.place = 0 AND s.waiting < 400 END AS must_queue,
       COALESCE(s.place > 0, 0) AS queued,
       s.epoch, s.floor,
       NOT s.asks_share AND s.shared AND COALESCE(NOT s.reserves OR s.writer_us < 2000000, 1) AS must_reserve,
       COALESCE(s.readers, x'') AS readers, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now_us
  FROM (SELECT ? = 1 AS asks_share, @@autocommit AS autocommit,
               /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */ AS epoch,
               m.epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */ AS same_epoch,
               m.floor, m.longest_ttl_us >= ? AS ttl_known,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), m.quarantined_until) AS quarantine_us,
               l.token, l.nonce,
               COALESCE(l.nonce = ? OR l.held_until > UTC_TIMESTAMP(6) AND JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(? USING utf8mb4)), 0) AS mine,
               CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
               l.expires_at > UTC_TIMESTAMP(6) AS alive,
               l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6) AS shared,
               l.readers,
               FIND_IN_SET(CONVERT(? USING ascii), l.writers) > 0 AS reserves,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.writer_until) AS writer_us,
               l.nonce IS NULL AND l.reserved_for IS NOT NULL AS reserved,
               l.nonce IS NULL AND l.reserved_for <=> ? AS reserved_for_this,
               (CHAR_LENGTH(l.waiters) + 1) DIV 37 AS waiting,
               FIND_IN_SET(CONVERT(? USING ascii), l.waiters) AS place,
               l.next_until <= UTC_TIMESTAMP(6) AS next_gone,
               l.next_until <= UTC_TIMESTAMP(6) + INTERVAL 22 SECOND AS next_due,
               TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)) AS since_us,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.held_until) AS free_in_us
          FROM rowlock_lease_meta AS m
          LEFT JOIN rowlock_lease AS l ON l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
         WHERE m.id = 1) AS s
