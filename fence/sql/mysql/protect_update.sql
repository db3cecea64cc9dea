-- Parameters: none; 'rowlock namespace' and 'rowlock resource' are replaced by the names in hexadecimal digits.
-- Result: none.
-- Promise: rejects every row that a session writes without a check by the lease that sealed the resource last. The trigger runs with the rights of the user that creates it. It locks the mark, because a plain SELECT reads the transaction's snapshot. If the session has made no check, the trigger does not read the mark: if the mark did not exist, the locking read would lock a gap of the index, and a seal would wait.
CREATE TRIGGER rowlock_protected_fence_update BEFORE UPDATE ON rowlock_protected FOR EACH ROW
BEGIN
    DECLARE nonces TEXT CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULLIF(CONVERT(@rowlock_nonces USING ascii), x'');
    DECLARE sealed CHAR(36) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL;
    IF nonces IS NOT NULL THEN
        SET sealed = (SELECT f.nonce FROM rowlock_lease_fence AS f
                       WHERE f.namespace = 'rowlock namespace' AND f.resource = 'rowlock resource'
                        LOCK IN SHARE MODE);
    END IF;
    IF COALESCE(FIND_IN_SET(sealed, nonces), 0) = 0
       AND NOT EXISTS (SELECT 1 FROM rowlock_lease_fence_pass AS p WHERE p.connection_id = CONNECTION_ID()) THEN
        IF nonces IS NULL THEN
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50451,
                MESSAGE_TEXT = 'rowlock: UPDATE refused: the transaction has passed no check';
        ELSE
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50452,
                MESSAGE_TEXT = 'rowlock: UPDATE refused: the lease that the transaction has checked is not the one that sealed last';
        END IF;
    END IF;
END
