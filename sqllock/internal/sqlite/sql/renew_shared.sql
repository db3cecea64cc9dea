-- Parameters: ?1 namespace; ?2 name; ?3 token of the epoch; ?4 the TTL in microseconds of each share to renew, a JSON object with the shares' nonces as its keys.
-- Result: no row if every share has ended, else one row: a JSON object with the nonces of the live shares as its keys.
-- Promise: renews no share that has ended, and changes no other share. Expired shares are dropped. A share that is not in the result is lost.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
), live AS (
    SELECT json_group_object(e.key, coalesce(c.now + json_extract(?4, '$."' || e.key || '"'), e.value)) AS readers,
           max(coalesce(c.now + json_extract(?4, '$."' || e.key || '"'), e.value)) AS until
      FROM clock c, rowlock_lease l, json_each(l.readers) e
     WHERE l.namespace = ?1 AND l.name = ?2 AND l.token = ?3 AND e.value > c.now
)
UPDATE rowlock_lease
   SET readers = live.readers,
       expires_at = live.until,
       held_until = live.until
  FROM live
 WHERE namespace = ?1 AND name = ?2 AND token = ?3
   AND live.until IS NOT NULL
RETURNING readers
