-- Parameters: slot, operation.
-- Result: none; the number of rows means nothing, because it depends on a flag of the connection.
-- Promise: the slot has this operation if and only if the transaction is committed; until it ends, it holds the slot.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease_outcome (slot, operation, committed_at)
VALUES (?, ?, UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       operation = VALUES(operation),
       committed_at = VALUES(committed_at)
