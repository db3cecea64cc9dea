-- Parameters: none.
-- Result: none.
-- Promise: an insert into the table of script_1_table.sql fails unless the lease was the last to seal the resource.
CREATE TEMP TRIGGER IF NOT EXISTS rowlock_check_insert BEFORE INSERT ON rowlock_check
BEGIN
    SELECT RAISE(ABORT, 'rowlock: stale: another lease has sealed the resource, or this one never has')
     WHERE NOT EXISTS (SELECT 1 FROM main.rowlock_lease_fence AS f
                        WHERE f.namespace = NEW.namespace AND f.resource = NEW.resource AND f.nonce = NEW.nonce);
END
