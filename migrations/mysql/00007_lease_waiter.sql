-- +goose Up

-- The process that a released lock is reserved for, until held_until, which is 50 ms after the release: only that process is granted the lock.
-- NULL while a grant holds the lock.
SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowlock_lease
    ADD COLUMN reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'reserved_for');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

-- +goose Down

SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowlock_lease DROP COLUMN reserved_for', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'reserved_for');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;
