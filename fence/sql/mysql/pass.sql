-- Parameters: nonce of the checked lease; nonce again.
-- Result: none.
-- Promise: the protected tables accept the lease's writes in this session until the variable is cleared. MySQL has no variables that end with a transaction. The variable keeps the last 64 nonces. All text is ASCII, because FIND_IN_SET of MariaDB finds nothing in a list of wide characters.
SET @rowlock_nonces = IF(FIND_IN_SET(CONVERT(? USING ascii), @rowlock_nonces) > 0, @rowlock_nonces, RIGHT(CONCAT_WS(_ascii',', @rowlock_nonces, CONVERT(? USING ascii)), 64 * 37 - 1))
