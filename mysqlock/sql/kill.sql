-- Parameters: none; the id of the connection replaces %d, because KILL accepts no parameter.
-- Result: none.
-- Promise: ends only that connection and releases its locks, possibly a moment after the statement returns.
KILL CONNECTION %d
