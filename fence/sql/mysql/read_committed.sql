-- Parameters: none.
-- Result: none.
-- Promise: for the next transaction of the session only.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
