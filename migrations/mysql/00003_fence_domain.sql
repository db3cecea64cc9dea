-- +goose Up

-- Where a mark's token comes from: the kind of store and the lock. Tokens of two domains are never
-- compared; an empty domain is that of a mark that was reset, or that is older than this column, and
-- takes whichever seals next.
SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowlock_lease_fence ADD COLUMN domain VARBINARY(1024) NOT NULL DEFAULT ''''', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease_fence', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'domain');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

-- How often an operator has reset the mark.
SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowlock_lease_fence ADD COLUMN era BIGINT NOT NULL DEFAULT 0', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease_fence', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'era');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

-- +goose Down

SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowlock_lease_fence DROP COLUMN era', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease_fence', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'era');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;

SET @rowlock_ddl = (
SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowlock_lease_fence DROP COLUMN domain', 'DO 0')
  FROM information_schema.COLUMNS
 WHERE REPLACE('rowlock_lease_fence', '`', '') IN (CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IF(TABLE_SCHEMA = DATABASE(), TABLE_NAME, NULL))
   AND COLUMN_NAME = 'domain');
PREPARE rowlock_ddl FROM @rowlock_ddl;
EXECUTE rowlock_ddl;
DEALLOCATE PREPARE rowlock_ddl;
