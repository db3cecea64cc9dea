-- +goose Up

-- Procedures for sessions that use the locks by SQL alone. They use the rows and rules of package sqllock, so that these
-- sessions and Go processes exclude each other. The page docs/locks-from-sql.md explains them. As in the migrations of
-- the tables, every statement can run again.
--
-- Each procedure with the prefix do_ runs one statement of package sqllock, whose file is named above the procedure and
-- explains the statement. The body is that file without its comments. The names of parameters replace its question
-- marks: TestTheProceduresRunTheStatementsOfTheBackends. Only MySQL executes what is in a comment that begins with
-- /*!80000, and only MariaDB what is in a comment that begins with /*M!. These procedures have the rights of their caller.
-- Only the procedures below them may be granted to other users.

-- look.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_look;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_look(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_shared INT, IN p_path TEXT CHARACTER SET ascii, IN p_closed_for BIGINT,
    OUT o_verdict TEXT CHARACTER SET ascii, OUT o_token BIGINT, OUT o_holder BLOB, OUT o_note BLOB, OUT o_since_us BIGINT, OUT o_free_in_us BIGINT,
    OUT o_ahead BIGINT, OUT o_must_queue INT, OUT o_queued INT, OUT o_epoch VARBINARY(255), OUT o_floor BIGINT, OUT o_must_reserve INT, OUT o_readers LONGBLOB, OUT o_now_us BIGINT) SQL SECURITY INVOKER
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
  FROM (SELECT p_shared = 1 AS asks_share, @@autocommit AS autocommit,
               /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */ AS epoch,
               m.epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */ AS same_epoch,
               m.floor, m.longest_ttl_us >= p_closed_for AS ttl_known,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), m.quarantined_until) AS quarantine_us,
               l.token, l.nonce,
               COALESCE(l.nonce = p_nonce OR l.held_until > UTC_TIMESTAMP(6) AND JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(p_path USING utf8mb4)), 0) AS mine,
               CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
               l.expires_at > UTC_TIMESTAMP(6) AS alive,
               l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6) AS shared,
               l.readers,
               FIND_IN_SET(CONVERT(p_waiter USING ascii), l.writers) > 0 AS reserves,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.writer_until) AS writer_us,
               l.nonce IS NULL AND l.reserved_for IS NOT NULL AS reserved,
               l.nonce IS NULL AND l.reserved_for <=> p_waiter AS reserved_for_this,
               (CHAR_LENGTH(l.waiters) + 1) DIV 37 AS waiting,
               FIND_IN_SET(CONVERT(p_waiter USING ascii), l.waiters) AS place,
               l.next_until <= UTC_TIMESTAMP(6) AS next_gone,
               l.next_until <= UTC_TIMESTAMP(6) + INTERVAL 22 SECOND AS next_due,
               TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)) AS since_us,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.held_until) AS free_in_us
          FROM rowlock_lease_meta AS m
          LEFT JOIN rowlock_lease AS l ON l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
         WHERE m.id = 1) AS s
  INTO o_verdict, o_token, o_holder, o_note, o_since_us, o_free_in_us, o_ahead, o_must_queue, o_queued, o_epoch, o_floor, o_must_reserve, o_readers, o_now_us
-- +goose StatementEnd

-- acquire.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_acquire;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_acquire(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_holder TEXT CHARACTER SET ascii, IN p_note TEXT CHARACTER SET ascii,
    IN p_ttl BIGINT, IN p_closed_for BIGINT, IN p_min_hold BIGINT, IN p_waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_epoch VARBINARY(255), IN p_floor BIGINT) SQL SECURITY INVOKER
/*!80000 INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
SELECT l.namespace, l.name, 0, x'', x'', l.acquired_at, l.expires_at, l.held_until
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
   AND (l.held_until <= UTC_TIMESTAMP(6) OR l.nonce = p_nonce
        OR l.nonce IS NULL AND l.reserved_for = p_waiter)
   AND @@autocommit = 1
   AND @@server_uuid = p_epoch
   FOR UPDATE SKIP LOCKED
    ON DUPLICATE KEY UPDATE
       token = LAST_INSERT_ID(IF(l.nonce <=> p_nonce, l.token, GREATEST(
           l.token + 1, p_floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))) | ((l.done IS NOT NULL) << 63)) << 1 >> 1,
       nonce = p_nonce,
       holder = CONVERT(FROM_BASE64(p_holder) USING utf8mb4),
       note = CONVERT(FROM_BASE64(p_note) USING utf8mb4),
       acquired_at = IF(l.nonce <=> p_nonce, l.acquired_at, UTC_TIMESTAMP(6)),
       expires_at = UTC_TIMESTAMP(6) + INTERVAL p_ttl MICROSECOND,
       held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL p_closed_for MICROSECOND,
           IF(l.nonce <=> p_nonce, l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND),
       reserved_for = NULL,
       readers = NULL,
       writer_until = NULL,
       next_until = IF(l.waiters IS NULL OR LEFT(l.waiters, 36) = p_waiter, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, l.next_until - INTERVAL 12 SECOND),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', l.waiters), CONCAT(',', p_waiter), x''), 2), x'') */
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease AS l
   SET l.held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL p_closed_for MICROSECOND,
           IF(l.nonce <=> p_nonce, l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND),
       l.token = LAST_INSERT_ID(IF(l.nonce <=> p_nonce, l.token, GREATEST(
           l.token + 1, p_floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))) | ((l.done IS NOT NULL) << 63)) << 1 >> 1,
       l.acquired_at = IF(l.nonce <=> p_nonce, l.acquired_at, UTC_TIMESTAMP(6)),
       l.nonce = p_nonce,
       l.holder = CONVERT(FROM_BASE64(p_holder) USING utf8mb4),
       l.note = CONVERT(FROM_BASE64(p_note) USING utf8mb4),
       l.expires_at = UTC_TIMESTAMP(6) + INTERVAL p_ttl MICROSECOND,
       l.reserved_for = NULL,
       l.readers = NULL,
       l.writer_until = NULL,
       l.next_until = IF(l.waiters IS NULL OR LEFT(l.waiters, 36) = p_waiter, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, l.next_until - INTERVAL 12 SECOND),
       l.waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', l.waiters), CONCAT(',', p_waiter), x''), 2), x'')
 WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
   AND (l.held_until <= UTC_TIMESTAMP(6) OR l.nonce = p_nonce
        OR l.nonce IS NULL AND l.reserved_for = p_waiter)
   AND @@autocommit = 1
   AND CONCAT(@@server_id, '@', @@hostname, ':', @@port) = p_epoch */
-- +goose StatementEnd

-- insert.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_insert;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_insert(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_holder TEXT CHARACTER SET ascii, IN p_note TEXT CHARACTER SET ascii, IN p_ttl BIGINT, IN p_closed_for BIGINT) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until, done)
SELECT FROM_BASE64(p_namespace), FROM_BASE64(p_name),
       LAST_INSERT_ID(GREATEST(m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))),
       p_nonce, CONVERT(FROM_BASE64(p_holder) USING utf8mb4), CONVERT(FROM_BASE64(p_note) USING utf8mb4),
       UTC_TIMESTAMP(6),
       UTC_TIMESTAMP(6) + INTERVAL p_ttl MICROSECOND,
       UTC_TIMESTAMP(6) + INTERVAL p_closed_for MICROSECOND,
       NULL
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1 AND m.epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */
   AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= p_closed_for
   AND @@autocommit = 1
   /*!80000 AND (@@transaction_isolation IN ('REPEATABLE-READ', 'SERIALIZABLE')
        OR (SELECT COUNT(*) FROM (
               SELECT 1 AS one
                 FROM rowlock_lease AS l
                WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
                LIMIT 1
                  FOR SHARE NOWAIT) AS present) = 0)
   FOR SHARE SKIP LOCKED */
   /*M! LOCK IN SHARE MODE */
-- +goose StatementEnd

-- granted.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_granted;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_granted(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_path TEXT CHARACTER SET ascii, OUT o_token BIGINT, OUT o_done BLOB) SQL SECURITY INVOKER
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token, COALESCE(CAST(l.done AS BINARY), x'') AS done
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
   AND (l.nonce = p_nonce OR JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(p_path USING utf8mb4)))
  INTO o_token, o_done
-- +goose StatementEnd

-- adopt_epoch.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_adopt;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_adopt() SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET quarantined_until = IF(epoch = x'', quarantined_until,
           GREATEST(quarantined_until, UTC_TIMESTAMP(6) + INTERVAL LEAST(longest_ttl_us, 1209600000000) MICROSECOND)),
       epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */
 WHERE id = 1 AND epoch <> /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */
-- +goose StatementEnd

-- raise_longest_ttl.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_ttl;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_ttl(IN p_closed_for BIGINT) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET longest_ttl_us = GREATEST(longest_ttl_us, p_closed_for)
 WHERE id = 1
-- +goose StatementEnd

-- create.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_create;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_create(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT FROM_BASE64(p_namespace), FROM_BASE64(p_name), m.floor, NULL, x'', x'', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), TIMESTAMP'1970-01-01 00:00:00'
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1
   /*!80000 FOR SHARE */ /*M! LOCK IN SHARE MODE */
-- +goose StatementEnd

-- lock_in_tx_or_skip.sql: in a procedure, MariaDB allows no NOWAIT
DROP PROCEDURE IF EXISTS rowlock_lease_do_lock;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_lock(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii,
    OUT o_verdict TEXT CHARACTER SET ascii, OUT o_token BIGINT, OUT o_holder BLOB, OUT o_note BLOB, OUT o_since_us BIGINT, OUT o_free_in_us BIGINT) SQL SECURITY INVOKER
/*M!101108 SET STATEMENT innodb_snapshot_isolation = OFF FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN l.held_until <= UTC_TIMESTAMP(6) THEN 'locked'
            WHEN l.nonce IS NULL AND l.reserved_for IS NOT NULL THEN 'reserved'
            WHEN l.nonce IS NULL THEN 'min hold'
            WHEN l.expires_at > UTC_TIMESTAMP(6) THEN 'leased'
            ELSE 'handover' END AS verdict,
       l.token, CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
       IF(l.token > 0, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)), 0) AS since_us,
       GREATEST(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.held_until), 0) AS free_in_us
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
   FOR UPDATE SKIP LOCKED
  INTO o_verdict, o_token, o_holder, o_note, o_since_us, o_free_in_us
-- +goose StatementEnd

-- reserve_for_writer.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_reserve;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_reserve(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_reserve BIGINT) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET writers = IF(writer_until > UTC_TIMESTAMP(6), LEFT(CONCAT_WS(',', NULLIF(SUBSTRING(REPLACE(CONCAT(',', writers), CONCAT(',', p_waiter), x''), 2), x''), p_waiter), 3699), p_waiter),
       writer_until = UTC_TIMESTAMP(6) + INTERVAL p_reserve MICROSECOND
 WHERE namespace = FROM_BASE64(p_namespace) AND name = FROM_BASE64(p_name)
   AND readers IS NOT NULL AND held_until > UTC_TIMESTAMP(6)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(p_namespace) AND r.name = FROM_BASE64(p_name)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
-- +goose StatementEnd

-- forget_writer.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_forget;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_forget(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET writer_until = IF(writers = p_waiter, NULL, writer_until),
       writers = NULLIF(SUBSTRING(REPLACE(CONCAT(',', writers), CONCAT(',', p_waiter), x''), 2), x'')
 WHERE namespace = FROM_BASE64(p_namespace) AND name = FROM_BASE64(p_name) AND FIND_IN_SET(CONVERT(p_waiter USING ascii), writers) > 0
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(p_namespace) AND r.name = FROM_BASE64(p_name)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
-- +goose StatementEnd

-- wait.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_wait;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_wait(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 0, sql_mode = 'STRICT_ALL_TABLES' FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET waiters = IF(
           waiters IS NULL OR LEFT(waiters, 36) = p_waiter OR next_until <= UTC_TIMESTAMP(6),
           CONCAT_WS(',', p_waiter, NULLIF(SUBSTRING(REPLACE(SUBSTRING(waiters, 37), CONCAT(',', p_waiter), x''), 2), x'')),
           CONCAT_WS(',', waiters, p_waiter)),
       next_until = IF(LEFT(waiters, 36) = p_waiter, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, next_until)
 WHERE namespace = FROM_BASE64(p_namespace) AND name = FROM_BASE64(p_name)
   AND held_until > UTC_TIMESTAMP(6)
   AND (waiters IS NULL OR LEFT(waiters, 36) = p_waiter OR next_until <= UTC_TIMESTAMP(6)
        OR FIND_IN_SET(CONVERT(p_waiter USING ascii), waiters) = 0 AND (CHAR_LENGTH(waiters) + 1) DIV 37 < 400)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
-- +goose StatementEnd

-- leave.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_leave;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_leave(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin) SQL SECURITY INVOKER
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET held_until = IF(waiters = p_waiter AND nonce IS NULL AND reserved_for = p_waiter, TIMESTAMP'1970-01-01 00:00:00', held_until),
       reserved_for = IF(reserved_for = p_waiter AND LAST_INSERT_ID(COALESCE(CONV(NULLIF(SUBSTRING(waiters, 62, 12), x''), 16, 10), 0)) >= 0, NULLIF(SUBSTRING(waiters, 38, 36), x''), reserved_for),
       next_until = IF(LEFT(waiters, 36) = p_waiter, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, next_until),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', waiters), CONCAT(',', p_waiter), x''), 2), x'')
 WHERE namespace = FROM_BASE64(p_namespace) AND name = FROM_BASE64(p_name) AND FIND_IN_SET(CONVERT(p_waiter USING ascii), waiters) > 0
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
-- +goose StatementEnd

-- renew.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_renew;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_renew(IN p_grants TEXT CHARACTER SET utf8mb4) SQL SECURITY INVOKER
/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       (SELECT r.namespace, r.name, g.ttl, g.min_hold, g.handover_delay
          FROM JSON_TABLE(CONVERT(p_grants USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   n INT PATH _utf8mb4'$.n',
                   namespace VARCHAR(256) CHARACTER SET ascii PATH _utf8mb4'$.namespace',
                   name VARCHAR(1024) CHARACTER SET ascii PATH _utf8mb4'$.name',
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                   token BIGINT PATH _utf8mb4'$.token',
                   ttl BIGINT PATH _utf8mb4'$.ttl',
                   min_hold BIGINT PATH _utf8mb4'$.min_hold',
                   handover_delay BIGINT PATH _utf8mb4'$.handover_delay')) AS g
         STRAIGHT_JOIN rowlock_lease AS r FORCE INDEX (PRIMARY)
            ON r.namespace = FROM_BASE64(g.namespace) AND r.name = FROM_BASE64(g.name)
         WHERE r.nonce = g.nonce AND r.token = g.token AND r.expires_at > UTC_TIMESTAMP(6)
         LIMIT 1000000
           FOR UPDATE /*!80000 OF r */ SKIP LOCKED) AS alive
STRAIGHT_JOIN rowlock_lease AS l FORCE INDEX (PRIMARY)
    ON l.namespace = alive.namespace AND l.name = alive.name
   SET l.expires_at = '1970-01-01' + INTERVAL (LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) + alive.ttl) MICROSECOND,
       l.held_until = GREATEST(
           UTC_TIMESTAMP(6) + INTERVAL (alive.ttl + alive.handover_delay) MICROSECOND,
           LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL alive.min_hold MICROSECOND)
-- +goose StatementEnd

-- renewed.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_renewed;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_renewed(IN p_renewed_us BIGINT, IN p_grants TEXT CHARACTER SET utf8mb4, OUT o_n BIGINT, OUT o_outcome TEXT CHARACTER SET ascii) SQL SECURITY INVOKER
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       g.n,
       CASE WHEN l.token IS NULL THEN 'lost'
            WHEN t.renewed_us > 0 AND l.expires_at >= '1970-01-01' + INTERVAL (t.renewed_us + g.ttl) MICROSECOND THEN 'renewed'
            ELSE 'unknown' END AS outcome
  FROM (SELECT CAST(p_renewed_us AS SIGNED) AS renewed_us) AS t
 STRAIGHT_JOIN JSON_TABLE(CONVERT(p_grants USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   n INT PATH _utf8mb4'$.n',
                   namespace VARCHAR(256) CHARACTER SET ascii PATH _utf8mb4'$.namespace',
                   name VARCHAR(1024) CHARACTER SET ascii PATH _utf8mb4'$.name',
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                   token BIGINT PATH _utf8mb4'$.token',
                   ttl BIGINT PATH _utf8mb4'$.ttl',
                   min_hold BIGINT PATH _utf8mb4'$.min_hold',
                   handover_delay BIGINT PATH _utf8mb4'$.handover_delay')) AS g
  LEFT JOIN rowlock_lease AS l FORCE INDEX (PRIMARY)
    ON l.namespace = FROM_BASE64(g.namespace) AND l.name = FROM_BASE64(g.name)
   AND l.nonce = g.nonce AND l.token = g.token AND l.expires_at > UTC_TIMESTAMP(6)
 LIMIT 1000000
  INTO o_n, o_outcome
-- +goose StatementEnd

-- release.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_release;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_release(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_token BIGINT, IN p_min_hold BIGINT, IN p_tick TEXT CHARACTER SET ascii) SQL SECURITY INVOKER
/*!80000 INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
SELECT l.namespace, l.name, 0, x'', x'', l.acquired_at, l.expires_at, l.held_until
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
   AND l.nonce = p_nonce AND p_token IN (0, l.token)
   FOR UPDATE SKIP LOCKED
    ON DUPLICATE KEY UPDATE
       reserved_for = IF(LAST_INSERT_ID(CONV(SUBSTRING(l.waiters, 25, 12), 16, 10)) >= 0
           AND LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND <= UTC_TIMESTAMP(6)
           AND l.next_until > UTC_TIMESTAMP(6) AND l.expires_at > UTC_TIMESTAMP(6),
           LEFT(l.waiters, 36), NULL),
       held_until = CASE
           WHEN LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND > UTC_TIMESTAMP(6) THEN LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND
           WHEN l.waiters IS NOT NULL AND l.next_until > UTC_TIMESTAMP(6) AND l.expires_at > UTC_TIMESTAMP(6) THEN UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND
           ELSE TIMESTAMP'1970-01-01 00:00:00' END,
       expires_at = LEAST(l.expires_at, UTC_TIMESTAMP(6)),
       nonce = NULL,
       done = COALESCE(CONVERT(FROM_BASE64(p_tick) USING utf8mb4) COLLATE utf8mb4_bin, l.done) */
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR
UPDATE rowlock_lease
   SET reserved_for = IF(LAST_INSERT_ID(CONV(SUBSTRING(waiters, 25, 12), 16, 10)) >= 0
           AND LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND <= UTC_TIMESTAMP(6)
           AND next_until > UTC_TIMESTAMP(6) AND expires_at > UTC_TIMESTAMP(6),
           LEFT(waiters, 36), NULL),
       held_until = CASE
           WHEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND > UTC_TIMESTAMP(6) THEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL p_min_hold MICROSECOND
           WHEN waiters IS NOT NULL AND next_until > UTC_TIMESTAMP(6) AND expires_at > UTC_TIMESTAMP(6) THEN UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND
           ELSE TIMESTAMP'1970-01-01 00:00:00' END,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6)),
       nonce = NULL,
       done = COALESCE(CONVERT(FROM_BASE64(p_tick) USING utf8mb4) COLLATE utf8mb4_bin, done)
 WHERE namespace = FROM_BASE64(p_namespace) AND name = FROM_BASE64(p_name)
   AND nonce = p_nonce AND p_token IN (0, token) */
-- +goose StatementEnd

-- released_before.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_released;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_released(IN p_namespace TEXT CHARACTER SET ascii, IN p_name TEXT CHARACTER SET ascii, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_token BIGINT, OUT o_verdict TEXT CHARACTER SET ascii) SQL SECURITY INVOKER
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN l.nonce IS NULL AND l.token = p_token AND p_token > 0 THEN 'released'
            WHEN l.nonce = p_nonce AND p_token IN (0, l.token) THEN 'again'
            ELSE 'not held' END AS verdict
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(p_namespace) AND l.name = FROM_BASE64(p_name)
  INTO o_verdict
-- +goose StatementEnd
-- Fails inside a transaction: a grant, a renewal and a release count when they are committed. Without autocommit, every
-- session is inside a transaction. A savepoint outlives its statement only inside a transaction.
DROP PROCEDURE IF EXISTS rowlock_lease_do_outside;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_outside() SQL SECURITY INVOKER
BEGIN
    DECLARE inside BOOLEAN DEFAULT TRUE;
    DECLARE CONTINUE HANDLER FOR 1305 SET inside = FALSE;
    SAVEPOINT rowlock_outside;
    RELEASE SAVEPOINT rowlock_outside;
    IF inside THEN
        SIGNAL SQLSTATE '25000' SET MYSQL_ERRNO = 50453, MESSAGE_TEXT = 'rowlock: call this procedure outside a transaction, with autocommit on';
    END IF;
END
-- +goose StatementEnd

-- Sets us to the TTL in microseconds, and the other results to namespace and name in base64. Fails with 22023 if
-- a parameter breaks the rules that package rowlock has for it.
DROP PROCEDURE IF EXISTS rowlock_lease_do_us;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_us(
    IN name TEXT CHARACTER SET utf8mb4, IN ttl DECIMAL(20, 6), IN namespace TEXT CHARACTER SET utf8mb4,
    OUT us BIGINT, OUT coded_namespace TEXT CHARACTER SET ascii, OUT coded_name TEXT CHARACTER SET ascii
) SQL SECURITY INVOKER
BEGIN
    IF name IS NULL OR OCTET_LENGTH(name) NOT BETWEEN 1 AND 512 THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'rowlock: the name must have 1 to 512 bytes';
    ELSEIF OCTET_LENGTH(namespace) > 128 THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'rowlock: the namespace must have at most 128 bytes';
    ELSEIF ttl IS NULL OR ttl NOT BETWEEN 0.05 AND 604800 THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'rowlock: the TTL must be from 50 ms to 7 days';
    END IF;
    SET us = ttl * 1000000, coded_namespace = CONCAT(TO_BASE64(COALESCE(namespace, '')), ' '), coded_name = TO_BASE64(name);
END
-- +goose StatementEnd

-- Makes one attempt to acquire a lock, and does not wait for its holder. The verdict is 'granted', or the reason why
-- the lock was not granted. ttl and free_in are in seconds. Without a nonce, the procedure sets a new random one. A second
-- call with the same nonce returns the same grant, and starts its TTL again. A refusal returns the token and the holder
-- of the lock's current or last grant. Without a holder, the text names the session. If waiter is not NULL, it is a
-- random id with which the caller polls: releases then reserve the lock for the id that has waited longest. The result
-- ahead is the number of waiters before this one. holder, note, namespace and waiter may be NULL.
DROP PROCEDURE IF EXISTS rowlock_lease_try_acquire;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_try_acquire(
    IN name TEXT CHARACTER SET utf8mb4, IN ttl DECIMAL(20, 6), IN holder TEXT CHARACTER SET utf8mb4, IN note TEXT CHARACTER SET utf8mb4,
    IN namespace TEXT CHARACTER SET utf8mb4, IN waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    INOUT nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, OUT verdict TEXT CHARACTER SET ascii, OUT token BIGINT,
    OUT held_by TEXT CHARACTER SET utf8mb4, OUT free_in DECIMAL(20, 6), OUT ahead BIGINT
) SQL SECURITY DEFINER
BEGIN
    DECLARE ttl_us, free_us, floor_seen, now_us, since_us BIGINT;
    DECLARE granted_id BIGINT UNSIGNED DEFAULT 0;
    DECLARE coded_namespace, coded_name, called, why, path, random TEXT CHARACTER SET ascii;
    DECLARE holder_seen, note_seen, done BLOB;
    DECLARE readers LONGBLOB;
    DECLARE epoch_seen VARBINARY(255);
    DECLARE must_queue, queued, must_reserve, failed, tries, timeout_before INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF timeout_before > 0 THEN
            SET SESSION innodb_lock_wait_timeout = timeout_before;
        END IF;
        RESIGNAL;
    END;
    CALL rowlock_lease_do_outside();
    CALL rowlock_lease_do_us(name, ttl, namespace, ttl_us, coded_namespace, coded_name);
    IF nonce IS NULL THEN -- the session and the time alone make it unique; MySQL 9 has no MD5, and MariaDB 10.6 no RANDOM_BYTES
        SET random = LEFT(SHA2(CONCAT(UUID(), ' ', RAND(), ' ', RAND(), ' ', UTC_TIMESTAMP(6)), 256), 32),
            nonce = CONCAT_WS('-', LEFT(random, 8), SUBSTRING(random, 9, 4), SUBSTRING(random, 13, 4), SUBSTRING(random, 17, 4), RIGHT(random, 12));
    END IF;
    SET nonce = LOWER(nonce),
        path = CONCAT('$."', nonce, '"'),
        called = CONCAT(TO_BASE64(LEFT(COALESCE(holder, CONCAT(SESSION_USER(), ' in session ', CONNECTION_ID())), 256)), ' '),
        why = CONCAT(TO_BASE64(LEFT(COALESCE(note, ''), 1024)), ' '),
        timeout_before = @@innodb_lock_wait_timeout;
    SET SESSION innodb_lock_wait_timeout = 1;
    attempts: LOOP
        SET tries = tries + 1, failed = 0, verdict = NULL;
        BEGIN
            -- another session has inserted or locked the row, or the server has undone the statement
            DECLARE CONTINUE HANDLER FOR 1020, 1062, 1205, 1213, 1615, 3572 SET failed = 1;
            CALL rowlock_lease_do_look(coded_namespace, coded_name, nonce, waiter, 0, path, ttl_us,
                verdict, token, holder_seen, note_seen, since_us, free_us, ahead, must_queue, queued, epoch_seen, floor_seen, must_reserve, readers, now_us);
            IF failed = 0 AND verdict = 'contended' THEN
                DO LAST_INSERT_ID(0);
                CALL rowlock_lease_do_acquire(coded_namespace, coded_name, nonce, called, why, ttl_us, ttl_us, 0, waiter, epoch_seen, floor_seen);
            ELSEIF failed = 0 AND verdict = 'missing' THEN
                DO LAST_INSERT_ID(0);
                CALL rowlock_lease_do_insert(coded_namespace, coded_name, nonce, called, why, ttl_us, ttl_us);
            ELSEIF failed = 0 AND verdict = 'epoch' THEN -- the server has changed
                CALL rowlock_lease_do_adopt();
            ELSEIF failed = 0 AND verdict = 'ttl' THEN -- no earlier grant had such a long TTL
                CALL rowlock_lease_do_ttl(ttl_us);
            END IF;
            IF failed = 0 AND verdict IN ('contended', 'missing') THEN
                SET granted_id = LAST_INSERT_ID();
            END IF;
        END;
        IF failed = 0 AND verdict IS NULL THEN
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'rowlock: the row of the meta table is missing';
        END IF;
        IF granted_id > 0 OR tries = 6 OR failed = 0 AND verdict NOT IN ('contended', 'missing', 'epoch', 'ttl') THEN
            LEAVE attempts;
        END IF;
        IF failed = 1 OR verdict IN ('contended', 'missing') THEN
            IF tries >= 3 THEN
                LEAVE attempts;
            END IF;
            DO SLEEP(0.001 + 0.002 * RAND());
        END IF;
    END LOOP;
    SET SESSION innodb_lock_wait_timeout = timeout_before;
    SET timeout_before = 0;
    IF granted_id > 0 THEN
        SET verdict = 'granted', token = granted_id & 0x7fffffffffffffff, held_by = NULL, free_in = NULL, ahead = 0;
        IF granted_id >> 63 = 1 THEN -- the row contains a tick
            CALL rowlock_lease_do_granted(coded_namespace, coded_name, nonce, path, token, done);
        END IF;
    ELSE
        SET verdict = CASE WHEN failed = 1 OR verdict IN ('missing', 'epoch', 'ttl') THEN 'contended'
                           WHEN verdict = 'leased' AND free_us > 1576800000000000 THEN 'paused' -- in more than half a century
                           ELSE verdict END,
            token = COALESCE(token, 0), held_by = CONVERT(holder_seen USING utf8mb4), free_in = COALESCE(free_us, 0) / 1000000, ahead = COALESCE(ahead, 0);
        IF waiter IS NOT NULL THEN
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1020, 1205, 1213, 1615, 3572 SET failed = 1; -- the next call tries it again
                IF must_reserve = 1 THEN -- as for a waiting writer of package sqllock: no further reader is granted a share
                    CALL rowlock_lease_do_reserve(coded_namespace, coded_name, waiter, 3000000);
                END IF;
                IF must_queue = 1 THEN
                    CALL rowlock_lease_do_wait(coded_namespace, coded_name, waiter);
                END IF;
            END;
        END IF;
    END IF;
END
-- +goose StatementEnd

-- Removes the waiter of a caller that no longer polls. Without this call, up to three releases reserve the lock for the
-- waiter, for 50 ms each. A shared lock then lets further readers in after 3 s.
DROP PROCEDURE IF EXISTS rowlock_lease_leave;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_leave(
    IN name TEXT CHARACTER SET utf8mb4, IN waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN namespace TEXT CHARACTER SET utf8mb4
) SQL SECURITY DEFINER
BEGIN
    DECLARE ttl_us BIGINT;
    DECLARE coded_namespace, coded_name TEXT CHARACTER SET ascii;
    DECLARE failed INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1020, 1205, 1213, 1615, 3572 SET failed = 1; -- at most three releases then reserve the lock for the waiter
    CALL rowlock_lease_do_outside();
    CALL rowlock_lease_do_us(name, 60, namespace, ttl_us, coded_namespace, coded_name);
    CALL rowlock_lease_do_leave(coded_namespace, coded_name, waiter);
    CALL rowlock_lease_do_forget(coded_namespace, coded_name, waiter); -- try_acquire reserves for the waiter, and not for a nonce
END
-- +goose StatementEnd

-- Renews a lease: it then ends after ttl seconds, counted from now. renewed is 0 if the lease has ended: a renewal
-- revives no lease. Fails with 50455 if another session has locked the row: the outcome is then unknown.
DROP PROCEDURE IF EXISTS rowlock_lease_renew;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_renew(
    IN name TEXT CHARACTER SET utf8mb4, IN nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN token BIGINT, IN ttl DECIMAL(20, 6),
    IN namespace TEXT CHARACTER SET utf8mb4, OUT renewed BOOLEAN
) SQL SECURITY DEFINER
BEGIN
    DECLARE ttl_us, n, at_us BIGINT;
    DECLARE coded_namespace, coded_name, outcome TEXT CHARACTER SET ascii;
    DECLARE grants TEXT CHARACTER SET utf8mb4;
    DECLARE failed, tries INT DEFAULT 0;
    CALL rowlock_lease_do_outside();
    CALL rowlock_lease_do_us(name, ttl, namespace, ttl_us, coded_namespace, coded_name);
    IF (SELECT m.longest_ttl_us FROM rowlock_lease_meta AS m WHERE m.id = 1) < ttl_us THEN -- no earlier grant had such a long TTL
        CALL rowlock_lease_do_ttl(ttl_us);
    END IF;
    SET grants = JSON_ARRAY(JSON_OBJECT('n', 0, 'namespace', coded_namespace, 'name', coded_name, 'nonce', LOWER(nonce), 'token', token,
                                        'ttl', ttl_us, 'min_hold', 0, 'handover_delay', 0));
    WHILE renewed IS NULL AND tries < 3 DO
        SET tries = tries + 1, failed = 0, outcome = NULL, at_us = 0;
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1020, 1205, 1213, 1615, 3572 SET failed = 1;
            DO LAST_INSERT_ID(0);
            CALL rowlock_lease_do_renew(grants);
            IF failed = 0 THEN
                SET at_us = LAST_INSERT_ID();
                CALL rowlock_lease_do_renewed(at_us, grants, n, outcome);
            END IF;
        END;
        IF outcome IN ('renewed', 'lost') THEN
            SET renewed = outcome = 'renewed';
        ELSE
            DO SLEEP(0.001 + 0.002 * RAND());
        END IF;
    END WHILE;
    IF renewed IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50455, MESSAGE_TEXT = 'rowlock: another session has locked the row: renew again before the lease ends';
    END IF;
END
-- +goose StatementEnd

-- Releases a lease, and reserves the lock for the waiter that has waited longest. released is 0 if the lease had ended
-- before and the lock was granted again. With token 0 it releases any grant of the nonce, for a caller that got no reply
-- to its request.
DROP PROCEDURE IF EXISTS rowlock_lease_release;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_release(
    IN name TEXT CHARACTER SET utf8mb4, IN nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN token BIGINT,
    IN namespace TEXT CHARACTER SET utf8mb4, OUT released BOOLEAN
) SQL SECURITY DEFINER
BEGIN
    DECLARE ttl_us, changed, ear BIGINT;
    DECLARE coded_namespace, coded_name, why TEXT CHARACTER SET ascii;
    DECLARE failed INT DEFAULT 0;
    DECLARE ends DATETIME(6);
    CALL rowlock_lease_do_outside();
    CALL rowlock_lease_do_us(name, 60, namespace, ttl_us, coded_namespace, coded_name);
    SET nonce = LOWER(nonce), ends = UTC_TIMESTAMP(6) + INTERVAL 1 SECOND;
    WHILE released IS NULL DO
        SET failed = 0, why = NULL;
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1020, 1205, 1213, 1615, 3572 SET failed = 1;
            DO LAST_INSERT_ID(0);
            CALL rowlock_lease_do_release(coded_namespace, coded_name, nonce, token, 0, NULL);
            IF failed = 0 THEN
                SET changed = ROW_COUNT(), ear = LAST_INSERT_ID();
            END IF;
            IF failed = 0 AND changed <= 0 THEN
                CALL rowlock_lease_do_released(coded_namespace, coded_name, nonce, token, why);
            END IF;
        END;
        IF failed = 0 AND (changed > 0 OR COALESCE(why, '') <> 'again') THEN
            SET released = changed > 0 OR COALESCE(why, '') = 'released';
        ELSEIF UTC_TIMESTAMP(6) > ends THEN
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50455, MESSAGE_TEXT = 'rowlock: another session has locked the row: release again';
        ELSE
            DO SLEEP(0.01 * RAND());
        END IF;
    END WHILE;
    IF changed > 0 AND ear > 0 THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; -- a process that is not woken polls
            KILL QUERY IS_USED_LOCK(CONCAT('rowlock-ear ', LOWER(LPAD(HEX(ear), 12, '0'))));
            -- If the first process does not come, the second polls when the reservation has ended.
            SET ear = (SELECT CONV(NULLIF(SUBSTRING(l.waiters, 62, 12), ''), 16, 10)
                         FROM rowlock_lease AS l
                        WHERE l.namespace = FROM_BASE64(coded_namespace) AND l.name = FROM_BASE64(coded_name) AND l.nonce IS NULL);
            IF ear > 0 THEN
                KILL QUERY IS_USED_LOCK(CONCAT('rowlock-ear ', LOWER(LPAD(HEX(ear), 12, '0'))));
            END IF;
        END;
    END IF;
END
-- +goose StatementEnd

-- Acquires a lock, and waits for it at most as long as wait, in seconds. A script has no IF in the mysql client, so this
-- procedure fails with 50456 if the lock is not granted. The parameters are those of try_acquire.
DROP PROCEDURE IF EXISTS rowlock_lease_acquire;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_acquire(
    IN name TEXT CHARACTER SET utf8mb4, IN wait DECIMAL(20, 6), IN ttl DECIMAL(20, 6), IN holder TEXT CHARACTER SET utf8mb4,
    IN note TEXT CHARACTER SET utf8mb4, IN namespace TEXT CHARACTER SET utf8mb4,
    INOUT nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, OUT token BIGINT
) SQL SECURITY DEFINER
BEGIN
    DECLARE ends DATETIME(6) DEFAULT UTC_TIMESTAMP(6) + INTERVAL COALESCE(wait, 0) * 1000000 MICROSECOND;
    DECLARE waiter CHAR(36) CHARACTER SET ascii COLLATE ascii_bin DEFAULT IF(wait > 0, LOWER(UUID()), NULL);
    DECLARE verdict TEXT CHARACTER SET ascii;
    DECLARE held_by, message TEXT CHARACTER SET utf8mb4;
    DECLARE called TEXT CHARACTER SET utf8mb4 DEFAULT COALESCE(holder, CONCAT(SESSION_USER(), ' in session ', CONNECTION_ID()));
    DECLARE free_in DECIMAL(20, 6);
    DECLARE ahead BIGINT;
    DECLARE waited BOOLEAN DEFAULT FALSE;
    attempts: LOOP
        CALL rowlock_lease_try_acquire(name, ttl, called, note, namespace, waiter, nonce, verdict, token, held_by, free_in, ahead);
        IF verdict = 'granted' OR UTC_TIMESTAMP(6) >= ends THEN
            LEAVE attempts;
        END IF;
        SET waited = TRUE;
        -- A release reserves the lock for the first waiter for 50 ms.
        DO SLEEP(IF(ahead > 0, 0.2, 0.02) + 0.02 * RAND());
    END LOOP;
    IF verdict <> 'granted' THEN
        IF waited THEN
            CALL rowlock_lease_leave(name, waiter, namespace);
        END IF;
        SET message = LEFT(CONCAT('rowlock: the lock is not free: ', verdict, ', by ', COALESCE(held_by, ''), ', free in ', free_in, ' s'), 128);
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50456, MESSAGE_TEXT = message;
    END IF;
END
-- +goose StatementEnd

-- Begins a transaction that has the lock until it ends. Until then no process gets a lease of that name, and no other
-- transaction gets the lock. There is no token and no TTL. Waits for the lock at most as long as wait, in seconds. If the
-- lock is not free, it fails with 50456, and no transaction is open. namespace may be NULL. The state of the lock is read
-- before the transaction begins: a refused call has locked no row, and the transaction's snapshot begins with the lock.
DROP PROCEDURE IF EXISTS rowlock_lease_begin;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_begin(
    IN name TEXT CHARACTER SET utf8mb4, IN wait DECIMAL(20, 6), IN namespace TEXT CHARACTER SET utf8mb4
) SQL SECURITY DEFINER
BEGIN
    DECLARE ends DATETIME(6) DEFAULT UTC_TIMESTAMP(6) + INTERVAL COALESCE(wait, 0) * 1000000 MICROSECOND;
    DECLARE ttl_us, token, since_us, free_us, ahead, floor_seen, now_us BIGINT;
    DECLARE readers LONGBLOB;
    DECLARE coded_namespace, coded_name, verdict TEXT CHARACTER SET ascii;
    DECLARE message TEXT CHARACTER SET utf8mb4;
    DECLARE holder_seen, note_seen BLOB;
    DECLARE epoch_seen VARBINARY(255);
    DECLARE must_queue, queued, must_reserve, failed, tries, timeout_before INT DEFAULT 0;
    CALL rowlock_lease_do_outside();
    CALL rowlock_lease_do_us(name, 60, namespace, ttl_us, coded_namespace, coded_name);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK;
            SET SESSION innodb_lock_wait_timeout = timeout_before;
            RESIGNAL;
        END;
        SET timeout_before = @@innodb_lock_wait_timeout;
        SET SESSION innodb_lock_wait_timeout = 1;
        attempts: LOOP
            SET tries = tries + 1, failed = 0, verdict = NULL;
            BEGIN
                -- another session has inserted or locked the row, or the server has undone the statement
                DECLARE CONTINUE HANDLER FOR 1020, 1062, 1205, 1213, 1615, 3572 SET failed = 1;
                CALL rowlock_lease_do_look(coded_namespace, coded_name, NULL, NULL, 0, NULL, 0,
                    verdict, token, holder_seen, note_seen, since_us, free_us, ahead, must_queue, queued, epoch_seen, floor_seen, must_reserve, readers, now_us);
                IF failed = 0 AND verdict = 'missing' THEN
                    CALL rowlock_lease_do_create(coded_namespace, coded_name);
                ELSEIF failed = 0 AND verdict = 'epoch' THEN -- the server has changed
                    CALL rowlock_lease_do_adopt();
                ELSEIF failed = 0 AND verdict = 'contended' THEN -- it was free just now
                    START TRANSACTION;
                    CALL rowlock_lease_do_lock(coded_namespace, coded_name, verdict, token, holder_seen, note_seen, since_us, free_us);
                    SET verdict = COALESCE(verdict, 'contended'); -- another transaction has locked the row
                END IF;
            END;
            IF failed = 0 AND verdict IS NULL THEN
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'rowlock: the row of the meta table is missing';
            ELSEIF verdict = 'locked' THEN
                LEAVE attempts;
            END IF;
            ROLLBACK;
            IF UTC_TIMESTAMP(6) >= ends AND (tries >= 6 OR failed = 0 AND verdict NOT IN ('missing', 'epoch', 'contended')) THEN
                SET message = LEFT(CONCAT('rowlock: the lock is not free: ', COALESCE(verdict, 'contended'), ', by ', COALESCE(CONVERT(holder_seen USING utf8mb4), ''),
                    ', free in ', COALESCE(free_us, 0) / 1000000, ' s'), 128);
                SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50456, MESSAGE_TEXT = message;
            END IF;
            DO SLEEP(IF(tries < 6, 0.002, 0.02) * (1 + RAND()));
        END LOOP;
        SET SESSION innodb_lock_wait_timeout = timeout_before;
    END;
END
-- +goose StatementEnd

-- The locks, for people. holder, note and since describe the current grant, or the grant whose lease has expired.
-- Times are UTC.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW rowlock_lease_locks AS
SELECT CONVERT(l.namespace USING utf8mb4) COLLATE utf8mb4_bin AS namespace, CONVERT(l.name USING utf8mb4) COLLATE utf8mb4_bin AS name,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6) + INTERVAL 50 YEAR THEN 'paused'
            WHEN l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6) THEN 'held'
            WHEN l.held_until > UTC_TIMESTAMP(6) THEN 'closed'
            WHEN l.nonce IS NOT NULL THEN 'expired'
            ELSE 'free' END AS state,
       IF(l.nonce IS NOT NULL, l.holder, NULL) AS holder,
       IF(l.nonce IS NOT NULL, l.note, NULL) AS note,
       IF(l.nonce IS NOT NULL, l.acquired_at, NULL) AS since,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6) THEN l.expires_at
            WHEN l.held_until > UTC_TIMESTAMP(6) THEN l.held_until END AS until,
       l.token,
       (SELECT COUNT(*)
          FROM JSON_TABLE(JSON_EXTRACT(l.readers, _utf8mb4'$.*'), _utf8mb4'$[*]' COLUMNS (us BIGINT PATH _utf8mb4'$')) AS v
         WHERE v.us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) AS readers,
       IF(l.waiters IS NOT NULL AND l.next_until > UTC_TIMESTAMP(6), (CHAR_LENGTH(l.waiters) + 1) DIV 37, 0) AS waiters
  FROM rowlock_lease AS l;

-- +goose Down

DROP VIEW IF EXISTS rowlock_lease_locks;
DROP PROCEDURE IF EXISTS rowlock_lease_begin;
DROP PROCEDURE IF EXISTS rowlock_lease_acquire;
DROP PROCEDURE IF EXISTS rowlock_lease_release;
DROP PROCEDURE IF EXISTS rowlock_lease_renew;
DROP PROCEDURE IF EXISTS rowlock_lease_leave;
DROP PROCEDURE IF EXISTS rowlock_lease_try_acquire;
DROP PROCEDURE IF EXISTS rowlock_lease_do_us;
DROP PROCEDURE IF EXISTS rowlock_lease_do_outside;
DROP PROCEDURE IF EXISTS rowlock_lease_do_released;
DROP PROCEDURE IF EXISTS rowlock_lease_do_release;
DROP PROCEDURE IF EXISTS rowlock_lease_do_renewed;
DROP PROCEDURE IF EXISTS rowlock_lease_do_renew;
DROP PROCEDURE IF EXISTS rowlock_lease_do_leave;
DROP PROCEDURE IF EXISTS rowlock_lease_do_wait;
DROP PROCEDURE IF EXISTS rowlock_lease_do_forget;
DROP PROCEDURE IF EXISTS rowlock_lease_do_reserve;
DROP PROCEDURE IF EXISTS rowlock_lease_do_lock;
DROP PROCEDURE IF EXISTS rowlock_lease_do_create;
DROP PROCEDURE IF EXISTS rowlock_lease_do_ttl;
DROP PROCEDURE IF EXISTS rowlock_lease_do_adopt;
DROP PROCEDURE IF EXISTS rowlock_lease_do_granted;
DROP PROCEDURE IF EXISTS rowlock_lease_do_insert;
DROP PROCEDURE IF EXISTS rowlock_lease_do_acquire;
DROP PROCEDURE IF EXISTS rowlock_lease_do_look;
