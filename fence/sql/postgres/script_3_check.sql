-- Parameters: none; 'rowlock namespace', 'rowlock resource', 'rowlock nonce' and 'rowlock idle' are replaced by quoted texts. The last one is the limit on idling in the transaction, in milliseconds.
-- Result: none.
-- Promise: check.sql as a block that a script can run. It fails with SQLSTATE RLF02 if the lease was not the last to seal the resource, and with 40001 if a newer lease waits to seal. If it succeeds, no other transaction changes the mark until this transaction ends, and protected tables accept the writes of the transaction. The text of the block contains no $ except its own, because the names are quoted without it.
DO $rowlock$
DECLARE
    mine   CONSTANT text := 'rowlock nonce';
    idle   CONSTANT text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
    sealed text;
    turn   CONSTANT boolean := pg_catalog.pg_try_advisory_xact_lock_shared(pg_catalog.hashtextextended(
               'rowlock resource'::text COLLATE pg_catalog."C",
               pg_catalog.hashtextextended('rowlock namespace'::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)));
BEGIN
    SELECT f.nonce::text INTO sealed
      FROM rowlock_lease_fence f
     WHERE f.namespace = 'rowlock namespace' AND f.resource = 'rowlock resource' AND turn
       FOR SHARE;
    IF NOT turn THEN
        SELECT f.nonce::text INTO sealed
          FROM rowlock_lease_fence f
         WHERE f.namespace = 'rowlock namespace' AND f.resource = 'rowlock resource';
    END IF;
    IF sealed IS DISTINCT FROM mine THEN
        RAISE EXCEPTION USING ERRCODE = 'RLF02',
            MESSAGE = pg_catalog.format('rowlock: stale: %L was sealed by another lease after this one, or never by this one', 'rowlock resource'::text);
    ELSIF NOT turn THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = pg_catalog.format('rowlock: a newer lease waits to seal %L: run the whole transaction again', 'rowlock resource'::text);
    END IF;
    IF idle::interval NOT BETWEEN interval '1 microsecond' AND 'rowlock idle'::float8 * interval '1 millisecond' THEN
        PERFORM pg_catalog.set_config('idle_in_transaction_session_timeout', 'rowlock idle', true);
    END IF;
    PERFORM pg_catalog.set_config('rowlock.nonces', pg_catalog.concat_ws(' ', NULLIF(pg_catalog.current_setting('rowlock.nonces', true), ''), mine), true);
END
$rowlock$
