-- +goose Up

-- Who is next: of those who wait for a lock that is held, one has its place here, and a release keeps
-- the lock for it for a moment. Nobody is next of a lock that nobody waits for. reserved_for is the process that is next,
-- and reserved_at when it was last seen; NULL if nobody is next.
SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowlock_lease
    ADD COLUMN reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN reserved_at DATETIME(6) NULL', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'reserved_at');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

-- +goose Down

SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowlock_lease DROP COLUMN reserved_at, DROP COLUMN reserved_for', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'reserved_at');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;
