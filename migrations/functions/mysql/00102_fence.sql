-- +goose Up

-- Procedures that seal and check the marks of package fence by SQL alone. As in the migration before this one, each
-- procedure with the prefix do_ runs one statement of package fence.

-- read.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_read;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_read(IN p_namespace TEXT CHARACTER SET ascii, IN p_resource TEXT CHARACTER SET ascii, OUT o_token BIGINT, OUT o_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, OUT o_domain VARBINARY(1024)) SQL SECURITY INVOKER
SELECT f.token, f.nonce, f.domain
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = FROM_BASE64(p_namespace) AND f.resource = FROM_BASE64(p_resource)
  INTO o_token, o_nonce, o_domain
-- +goose StatementEnd

-- raise.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_raise;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_raise(IN p_namespace TEXT CHARACTER SET ascii, IN p_resource TEXT CHARACTER SET ascii, IN p_token BIGINT, IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, IN p_domain TEXT CHARACTER SET ascii) SQL SECURITY INVOKER
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
VALUES (FROM_BASE64(p_namespace), FROM_BASE64(p_resource), p_token, p_nonce, FROM_BASE64(p_domain), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       nonce = IF(VALUES(token) > token AND domain IN (x'', VALUES(domain)), VALUES(nonce), nonce),
       sealed_at = IF(VALUES(token) > token AND domain IN (x'', VALUES(domain)), VALUES(sealed_at), sealed_at),
       domain = IF(VALUES(token) > token AND domain = x'', VALUES(domain), domain),
       token = IF(VALUES(token) > token AND domain = VALUES(domain), VALUES(token), token)
-- +goose StatementEnd

-- check.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_check;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_check(IN p_namespace TEXT CHARACTER SET ascii, IN p_resource TEXT CHARACTER SET ascii, OUT o_token BIGINT, OUT o_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, OUT o_seen_token BIGINT, OUT o_seen_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin) SQL SECURITY INVOKER
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       f.token, f.nonce, s.token, s.nonce
  FROM rowlock_lease_fence AS f
  LEFT JOIN (SELECT o.namespace, o.resource, o.token, o.nonce
               FROM rowlock_lease_fence AS o
              WHERE o.namespace = FROM_BASE64(p_namespace) AND o.resource = FROM_BASE64(p_resource)
              LIMIT 1) AS s
    ON s.namespace = f.namespace AND s.resource = f.resource
 WHERE f.namespace = FROM_BASE64(p_namespace) AND f.resource = FROM_BASE64(p_resource)
  LOCK IN SHARE MODE
  INTO o_token, o_nonce, o_seen_token, o_seen_nonce
-- +goose StatementEnd

-- pass.sql
DROP PROCEDURE IF EXISTS rowlock_lease_do_pass;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_do_pass(IN p_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin) SQL SECURITY INVOKER
SET @rowlock_nonces = IF(FIND_IN_SET(CONVERT(p_nonce USING ascii), @rowlock_nonces) > 0, @rowlock_nonces, RIGHT(CONCAT_WS(_ascii',', @rowlock_nonces, CONVERT(p_nonce USING ascii)), 64 * 37 - 1))
-- +goose StatementEnd
-- Makes a lease the newest holder of the resource, as a guard's Seal does. Call it once after acquiring, outside
-- a transaction, before you read what the lock protects. It waits at most as long as innodb_lock_wait_timeout for the
-- transactions that an older lease has checked, and then fails with 1205. Fails with 50452 if the resource was sealed by
-- a newer lease, or by a lease of another lock or store. name is the lock's name if it is not that of the resource.
DROP PROCEDURE IF EXISTS rowlock_lease_seal;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_seal(
    IN resource TEXT CHARACTER SET utf8mb4, IN token BIGINT, IN nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN name TEXT CHARACTER SET utf8mb4, IN namespace TEXT CHARACTER SET utf8mb4
) SQL SECURITY DEFINER
BEGIN
    DECLARE coded_namespace, coded_resource TEXT CHARACTER SET ascii;
    DECLARE lease_domain TEXT CHARACTER SET utf8mb4 DEFAULT CONCAT('sqllock/mysql ', COALESCE(name, resource));
    DECLARE ttl_us, sealed_token BIGINT;
    DECLARE sealed_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE sealed_domain VARBINARY(1024);
    CALL rowlock_lease_do_outside();
    IF token IS NULL OR token <= 0 OR nonce IS NULL OR OCTET_LENGTH(lease_domain) > 1024 THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'rowlock: seal: a parameter is missing or too long';
    END IF;
    CALL rowlock_lease_do_us(resource, 60, namespace, ttl_us, coded_namespace, coded_resource);
    SET nonce = LOWER(nonce);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK;
            RESIGNAL;
        END;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        CALL rowlock_lease_do_read(coded_namespace, coded_resource, sealed_token, sealed_nonce, sealed_domain);
        IF sealed_nonce IS NULL
           OR sealed_nonce <> nonce AND sealed_token < token AND sealed_domain IN (x'', CAST(lease_domain AS BINARY)) THEN
            CALL rowlock_lease_do_raise(coded_namespace, coded_resource, token, nonce, TO_BASE64(lease_domain));
            CALL rowlock_lease_do_read(coded_namespace, coded_resource, sealed_token, sealed_nonce, sealed_domain);
        END IF;
        COMMIT;
    END;
    IF NOT sealed_nonce <=> nonce THEN
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50452, MESSAGE_TEXT = 'rowlock: seal refused: the lease is not newer than the one that sealed last, or is of another lock or store';
    END IF;
END
-- +goose StatementEnd

-- Checks that the lease is the one that sealed the resource last, as a guard's Check does. Call it in the transaction
-- that writes, before you read and write. Until that transaction ends, no newer lease seals the resource, and protected
-- tables accept the writes. Fails with 50452 if the lease is stale, with 50454 if the transaction must be rolled back and
-- repeated, because it began to read before the seal, and with 50457 outside a transaction. It compares the nonce. The
-- token is for the error. The check stays valid for protected tables until the session ends, or clears @rowlock_nonces.
DROP PROCEDURE IF EXISTS rowlock_lease_check;
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_check(
    IN resource TEXT CHARACTER SET utf8mb4, IN token BIGINT, IN nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN namespace TEXT CHARACTER SET utf8mb4
) SQL SECURITY DEFINER
BEGIN
    DECLARE coded_namespace, coded_resource TEXT CHARACTER SET ascii;
    DECLARE ttl_us, sealed_token, seen_token BIGINT;
    DECLARE sealed_nonce, seen_nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE inside BOOLEAN DEFAULT TRUE;
    DECLARE message TEXT CHARACTER SET utf8mb4;
    CALL rowlock_lease_do_us(resource, 60, namespace, ttl_us, coded_namespace, coded_resource);
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1305 SET inside = FALSE;
        SAVEPOINT rowlock_inside;
        RELEASE SAVEPOINT rowlock_inside;
    END;
    IF NOT inside THEN
        SIGNAL SQLSTATE '25000' SET MYSQL_ERRNO = 50457, MESSAGE_TEXT = 'rowlock: check outside a transaction protects nothing: START TRANSACTION first';
    END IF;
    SET nonce = LOWER(nonce);
    CALL rowlock_lease_do_check(coded_namespace, coded_resource, sealed_token, sealed_nonce, seen_token, seen_nonce);
    IF nonce IS NULL OR NOT sealed_nonce <=> nonce THEN
        SET message = CONCAT('rowlock: check refused: the lease with token ', COALESCE(token, 0), ' is not the one that sealed last: ', COALESCE(sealed_token, 'none'));
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 50452, MESSAGE_TEXT = message;
    ELSEIF NOT seen_nonce <=> nonce THEN
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 50454, MESSAGE_TEXT = 'rowlock: check: the transaction began to read before the seal: roll it back and repeat it';
    END IF;
    CALL rowlock_lease_do_pass(nonce);
END
-- +goose StatementEnd

-- +goose Down

DROP PROCEDURE IF EXISTS rowlock_lease_check;
DROP PROCEDURE IF EXISTS rowlock_lease_seal;
DROP PROCEDURE IF EXISTS rowlock_lease_do_pass;
DROP PROCEDURE IF EXISTS rowlock_lease_do_check;
DROP PROCEDURE IF EXISTS rowlock_lease_do_raise;
DROP PROCEDURE IF EXISTS rowlock_lease_do_read;
