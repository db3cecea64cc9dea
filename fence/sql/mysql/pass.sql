-- Parameters: nonce of the lease that has passed a check; nonce again.
-- Result: none.
-- Promise: the protected tables let the lease pass in this session until it is cleared: there is no variable of a transaction. Of those that are never cleared, the last 64 are kept. All of it is ASCII, because MariaDB finds nothing in a list of wide characters.
SET @rowlock_nonces = IF(FIND_IN_SET(CONVERT(? USING ascii), @rowlock_nonces) > 0, @rowlock_nonces, RIGHT(CONCAT_WS(_ascii',', @rowlock_nonces, CONVERT(? USING ascii)), 64 * 37 - 1))
