-- Parameters: none.
-- Result: none.
-- Promise: creates the same table as goose, so that goose's own command can use the table.
CREATE TABLE rowlock_lease_version (
    id         bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp     datetime NULL DEFAULT CURRENT_TIMESTAMP
)
