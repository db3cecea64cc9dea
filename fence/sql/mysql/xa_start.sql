-- Parameters: none.
-- Result: none.
-- Promise: in a transaction it fails, with error 1399 in a branch of an XA transaction and 1400 elsewhere; else it begins a branch, which must be ended.
XA START 'rowlock'
