-- Parameters: none.
-- Result: one row: the server's description of its version.
-- Promise: reads only.
SELECT VERSION()
