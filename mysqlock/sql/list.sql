-- Parameters: the schema in base64; 1 for every namespace; the namespace in base64.
-- Result: a row for each lock that was ever granted, ordered by namespace and name: the id of the connection that holds it, or NULL; the last grant's token, connection, holder, note and age in microseconds; and a user and host. If the last grant no longer holds the lock, these are the user and host of the connection that does, as far as the caller may see them.
-- Promise: reads only. LIMIT overrides the session's sql_select_limit.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       k.namespace, k.name, k.held_by, k.token, k.connection, k.holder, k.note, k.age_us, p.USER AS who, p.HOST AS whence
  FROM (SELECT c.namespace, c.name,
               IS_USED_LOCK(CONCAT('rowlock:', LEFT(SHA2(CONCAT(FROM_BASE64(?), 0x00, c.namespace, 0x00, c.name), 256), 56))) AS held_by,
               c.token, c.connection, c.holder, c.note, TIMESTAMPDIFF(MICROSECOND, c.granted_at, UTC_TIMESTAMP(6)) AS age_us
          FROM rowlock_lease_counter AS c
         WHERE ? = 1 OR c.namespace = FROM_BASE64(?)) AS k
  LEFT JOIN information_schema.PROCESSLIST AS p ON p.ID = k.held_by AND p.ID <> k.connection
 ORDER BY k.namespace, k.name
 LIMIT 18446744073709551615
