-- Parameters: none.
-- Result: one row: the version text of the server.
-- Promise: reads only.
SELECT VERSION()
