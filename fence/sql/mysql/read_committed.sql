-- Parameters: none.
-- Result: none.
-- Promise: applies only to the next transaction of the session.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
