-- +goose Up

-- Who waits, in the order in which they came: the ids of their processes, with commas in between; NULL if nobody does.
-- The first of them is next. reserved_at is when it was last seen.
SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowlock_lease
    ADD COLUMN waiters VARCHAR(3700) CHARACTER SET ascii COLLATE ascii_bin NULL,
    DROP COLUMN reserved_for', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'waiters');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

-- +goose Down

SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowlock_lease
    ADD COLUMN reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
    DROP COLUMN waiters', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'waiters');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;
