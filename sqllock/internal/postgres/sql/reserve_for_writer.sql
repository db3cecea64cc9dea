-- Parameters: $1 namespace; $2 name; $3 the epoch token of the readers; $4 the microseconds for which no other reader joins; $5 the nonce of the writer's request.
-- Result: no rows; changes one row if the lock still has shares of this epoch.
-- Promise: until the given time, no other reader is granted a share, unless forget_writer.sql runs for this writer and for every other writer that waits. The shares that exist are not affected. It waits for the row for at most 1 s. The commit needs no flush, because the note affects no exclusion.
UPDATE rowlock_lease l
   SET writer_until = clock_timestamp() + $4::bigint::float8 * interval '1 microsecond',
       writers = CASE WHEN l.writer_until > clock_timestamp() THEN pg_catalog.array_append(pg_catalog.array_remove(l.writers, $5::text::uuid), $5::text::uuid)
                      ELSE ARRAY[$5::text::uuid] END
  FROM (SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)) bounded
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.token = $3::bigint AND l.readers IS NOT NULL
