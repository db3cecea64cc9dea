-- Parameters: the lock's name.
-- Result: one row: 1 if this session held it and has let go, 0 if another holds it, NULL if nobody does.
-- Promise: gives back one taking of this session's, nobody else's.
SELECT RELEASE_LOCK(?) AS released
