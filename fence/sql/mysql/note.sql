-- Parameters: slot, operation (the number of the transaction).
-- Result: none; ignore the number of affected rows, because it depends on a flag of the connection.
-- Promise: the row has this operation if and only if the transaction commits. The transaction locks the row until it ends.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease_outcome (slot, operation, committed_at)
VALUES (?, ?, UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       operation = VALUES(operation),
       committed_at = VALUES(committed_at)
