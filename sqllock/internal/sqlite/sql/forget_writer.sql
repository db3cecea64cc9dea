-- Parameters: ?1 namespace; ?2 name; ?3 the nonce of the writer's request.
-- Result: none.
-- Promise: this writer, which has given up, keeps out no reader any longer. Other writers that wait still do.
UPDATE rowlock_lease
   SET writer_until = CASE WHEN writers <> ?3 THEN writer_until END,
       writers = ltrim(replace(',' || writers, ',' || ?3, ''), ',')
 WHERE namespace = ?1 AND name = ?2
   AND instr(writers, ?3) > 0
