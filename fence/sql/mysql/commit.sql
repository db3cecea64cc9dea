-- Parameters: none.
-- Result: none.
-- Promise: ends the transaction.
COMMIT
