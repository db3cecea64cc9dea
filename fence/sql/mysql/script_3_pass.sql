-- Parameters: none; 'rowlock nonce' is replaced by a text in hexadecimal digits.
-- Result: none.
-- Promise: the protected tables accept the lease's writes in this session until the session ends, or until the variable is cleared. See pass.sql.
SET @rowlock_nonces = IF(FIND_IN_SET(CONVERT('rowlock nonce' USING ascii), @rowlock_nonces) > 0, @rowlock_nonces, RIGHT(CONCAT_WS(_ascii',', @rowlock_nonces, CONVERT('rowlock nonce' USING ascii)), 64 * 37 - 1))
