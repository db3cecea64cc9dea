-- Parameters: none.
-- Result: none.
-- Promise: the table that goose itself would create, so that its command can use it.
CREATE TABLE rowlock_lease_version (
    id         bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp     datetime NULL DEFAULT CURRENT_TIMESTAMP
)
