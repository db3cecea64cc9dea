-- Triggers that record every change of a lock's row, in the transaction that makes the change.
-- The changes of each name are numbered. Times are microseconds since 1970.
CREATE TABLE torture_turn (
    name VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    n    BIGINT NOT NULL
) ENGINE = InnoDB
-- next
CREATE TABLE torture_audit (
    name        VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    seq         BIGINT       NOT NULL,
    gone        BOOLEAN      NOT NULL,
    holder      TEXT         NOT NULL,
    old_token   BIGINT       NOT NULL,
    old_nonce   CHAR(36)     NOT NULL,
    old_expires BIGINT       NOT NULL,
    token       BIGINT       NOT NULL,
    nonce       CHAR(36)     NOT NULL,
    expires     BIGINT       NOT NULL,
    at          BIGINT       NOT NULL,
    PRIMARY KEY (name, seq)
) ENGINE = InnoDB
-- next
CREATE TRIGGER torture_audit_insert AFTER INSERT ON rowlock_lease FOR EACH ROW BEGIN
    INSERT INTO torture_turn (name, n) VALUES (CONVERT(NEW.name USING utf8mb4), 1) ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO torture_audit (name, seq, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
    VALUES (CONVERT(NEW.name USING utf8mb4), (SELECT n FROM torture_turn t WHERE t.name = CONVERT(NEW.name USING utf8mb4)), FALSE, NEW.holder,
            0, '', 0,
            NEW.token, COALESCE(NEW.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NEW.expires_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)));
END
-- next
CREATE TRIGGER torture_audit_update AFTER UPDATE ON rowlock_lease FOR EACH ROW BEGIN
    INSERT INTO torture_turn (name, n) VALUES (CONVERT(NEW.name USING utf8mb4), 1) ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO torture_audit (name, seq, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
    VALUES (CONVERT(NEW.name USING utf8mb4), (SELECT n FROM torture_turn t WHERE t.name = CONVERT(NEW.name USING utf8mb4)), FALSE, NEW.holder,
            OLD.token, COALESCE(OLD.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', OLD.expires_at),
            NEW.token, COALESCE(NEW.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NEW.expires_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)));
END
-- next
CREATE TRIGGER torture_audit_delete AFTER DELETE ON rowlock_lease FOR EACH ROW BEGIN
    INSERT INTO torture_turn (name, n) VALUES (CONVERT(OLD.name USING utf8mb4), 1) ON DUPLICATE KEY UPDATE n = n + 1;
    INSERT INTO torture_audit (name, seq, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
    VALUES (CONVERT(OLD.name USING utf8mb4), (SELECT n FROM torture_turn t WHERE t.name = CONVERT(OLD.name USING utf8mb4)), TRUE, '',
            OLD.token, COALESCE(OLD.nonce, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', OLD.expires_at),
            0, '', 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)));
END
