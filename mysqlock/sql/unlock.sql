-- Parameters: the lock's name.
-- Result: one row: 1 if this session held the lock and released it, 0 if another session holds it, NULL if it is free.
-- Promise: releases one hold of this session, and no hold of another session.
SELECT RELEASE_LOCK(?) AS released
