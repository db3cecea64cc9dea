-- Parameters: none.
-- Result: none.
-- Promise: ends the transaction. If it fails because the file is busy, it can be repeated.
COMMIT
