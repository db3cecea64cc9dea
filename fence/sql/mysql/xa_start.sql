-- Parameters: none.
-- Result: none.
-- Promise: in a transaction it fails, with error 1399 in a branch of an XA transaction and 1400 otherwise. Outside a transaction it begins a branch, which the caller must end.
XA START 'rowlock'
