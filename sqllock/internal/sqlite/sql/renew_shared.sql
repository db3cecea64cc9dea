-- Parameters: ?1 namespace; ?2 name; ?3 token of the epoch; ?4 the TTL in microseconds of each share to renew, a JSON object with the shares' nonces as its keys.
-- Result: no row if every share has ended, else one row: a JSON object with the nonces of the live shares as its keys.
-- Promise: renews no share that has ended, and changes no other share. Expired shares are dropped. A share that is not in the result is lost.
WITH clock AS NOT MATERIALIZED (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
)
UPDATE rowlock_lease
   SET (readers, expires_at, held_until) = (
           SELECT json_group_object(live.nonce, live.until), max(live.until), max(live.until)
             FROM (SELECT e.key AS nonce, coalesce(c.now + json_extract(?4, '$."' || e.key || '"'), e.value) AS until
                     FROM clock c, json_each(rowlock_lease.readers) e
                    WHERE e.value > c.now) live)
 WHERE namespace = ?1 AND name = ?2 AND token = ?3
   AND EXISTS (SELECT 1 FROM clock c, json_each(rowlock_lease.readers) e WHERE e.value > c.now)
RETURNING readers
