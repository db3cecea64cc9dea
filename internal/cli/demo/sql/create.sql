-- Parameters: none.
-- Result: none.
-- Promise: fails if there is such a table, whoever made it.
CREATE TABLE rowlock_demo (
    name   VARCHAR(64) NOT NULL PRIMARY KEY,
    amount BIGINT      NOT NULL
)
