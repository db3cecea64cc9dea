-- Parameters: none.
-- Result: none.
-- Promise: in a transaction it fails: with error 1399 in a branch of an XA transaction, and with error 1400 in an ordinary transaction. Outside a transaction it begins a branch, which the caller must end.
XA START 'rowlock'
