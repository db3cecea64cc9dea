-- Parameters: none.
-- Result: none.
-- Promise: in a branch of an XA transaction it fails with error 1399, and in an ordinary transaction with error 1400. Outside a transaction it begins a branch, which the caller must end.
XA START 'rowlock'
