-- Parameters: none.
-- Result: none.
-- Promise: drops what create.sql has made.
DROP TABLE rowlock_demo
