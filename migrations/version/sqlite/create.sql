-- Parameters: none.
-- Result: none.
-- Promise: creates the same table as goose, so that goose's own command can use the table; may run in two processes at once.
CREATE TABLE IF NOT EXISTS rowlock_lease_version (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp     TIMESTAMP DEFAULT (datetime('now'))
)
