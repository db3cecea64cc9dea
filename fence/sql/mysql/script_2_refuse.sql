-- Parameters: none.
-- Result: none.
-- Promise: fails if @rowlock_check is no statement. The server's error (1064) contains its text. SIGNAL cannot be used here: outside a stored program it has no condition.
PREPARE rowlock_check FROM @rowlock_check
