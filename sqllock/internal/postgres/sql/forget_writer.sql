-- Parameters: $1 namespace; $2 name; $3 the nonce of the writer's request.
-- Result: no rows; changes one row if this writer kept out readers.
-- Promise: this writer, which has given up, keeps out no reader any longer. Other writers that wait still do. It waits for the row for at most 1 s. The commit needs no flush, because the note affects no exclusion.
UPDATE rowlock_lease l
   SET writer_until = CASE WHEN pg_catalog.cardinality(pg_catalog.array_remove(l.writers, $3::text::uuid)) > 0 THEN l.writer_until END,
       writers = pg_catalog.array_remove(l.writers, $3::text::uuid)
  FROM (SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)) bounded
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND $3::text::uuid = ANY (l.writers)
