-- Parameters: none.
-- Result: none.
-- Promise: commits an open transaction before it begins a new one.
START TRANSACTION
