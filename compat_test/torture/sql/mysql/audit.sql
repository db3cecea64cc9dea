-- Every change of a lock's row, in the transaction that makes it. Instants are microseconds since 1970.
CREATE TABLE torture_audit (
    seq         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name        VARCHAR(512) NOT NULL,
    gone        BOOLEAN      NOT NULL,
    holder      TEXT         NOT NULL,
    old_token   BIGINT       NOT NULL,
    old_nonce   CHAR(36)     NOT NULL,
    old_expires BIGINT       NOT NULL,
    token       BIGINT       NOT NULL,
    nonce       CHAR(36)     NOT NULL,
    expires     BIGINT       NOT NULL,
    at          BIGINT       NOT NULL
) ENGINE = InnoDB
-- next
CREATE TRIGGER torture_audit_insert AFTER INSERT ON rowlock_lease FOR EACH ROW
INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
VALUES (CONVERT(NEW.name USING utf8mb4), FALSE, NEW.holder, 0, '', 0,
        NEW.token, COALESCE(NEW.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NEW.expires_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
-- next
CREATE TRIGGER torture_audit_update AFTER UPDATE ON rowlock_lease FOR EACH ROW
INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
VALUES (CONVERT(NEW.name USING utf8mb4), FALSE, NEW.holder,
        OLD.token, COALESCE(OLD.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', OLD.expires_at),
        NEW.token, COALESCE(NEW.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NEW.expires_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
-- next
CREATE TRIGGER torture_audit_delete AFTER DELETE ON rowlock_lease FOR EACH ROW
INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
VALUES (CONVERT(OLD.name USING utf8mb4), TRUE, '',
        OLD.token, COALESCE(OLD.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', OLD.expires_at), 0, '', 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
