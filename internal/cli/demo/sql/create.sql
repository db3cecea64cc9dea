-- Parameters: none.
-- Result: none.
-- Promise: fails if the table exists.
CREATE TABLE rowlock_demo (
    name   VARCHAR(64) NOT NULL PRIMARY KEY,
    amount BIGINT      NOT NULL
)
