-- Parameters: none.
-- Result: none.
-- Promise: the table that goose itself would create, so that its command can use it; may run in two processes at once.
CREATE TABLE IF NOT EXISTS rowlock_lease_version (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp     TIMESTAMP DEFAULT (datetime('now'))
)
