-- Parameters: none.
-- Result: none.
-- Promise: ends the transaction; one that fails because the file is busy can be tried again.
COMMIT
