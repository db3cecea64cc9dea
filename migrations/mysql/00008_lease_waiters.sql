-- +goose Up

-- The queue of the processes that wait for the lock: their ids of 36 characters each, with commas between them, at most 100. NULL if no process waits.
-- It is in the row of the lock because a statement then locks that row and no other: with a table of waiters, releases and waiters would
-- lock each other's rows and deadlock.
-- next_seen_at is when the first process of the queue last confirmed that it waits. After 3 s it counts as dead.
SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowlock_lease
    ADD COLUMN waiters VARCHAR(3700) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN next_seen_at DATETIME(6) NULL', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'waiters');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

-- +goose Down

SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowlock_lease DROP COLUMN next_seen_at, DROP COLUMN waiters', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'waiters');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;
