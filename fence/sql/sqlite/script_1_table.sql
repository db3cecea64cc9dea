-- Parameters: none.
-- Result: none.
-- Promise: the table of this connection whose trigger makes the check, because SQLite can raise an error only in a trigger.
CREATE TEMP TABLE IF NOT EXISTS rowlock_check (namespace TEXT NOT NULL, resource TEXT NOT NULL, nonce TEXT NOT NULL)
