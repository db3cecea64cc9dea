-- Parameters: none.
-- Result: none.
-- Promise: drops the table of create.sql.
DROP TABLE rowlock_demo
