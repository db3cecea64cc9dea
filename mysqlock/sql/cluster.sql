-- Parameters: none.
-- Result: one row for each of the listed settings that the server has: the name and the value.
-- Promise: reads only.
SHOW VARIABLES WHERE Variable_name IN (
    'wsrep_on', 'binlog_format', 'log_bin', 'group_replication_group_name', 'group_replication_single_primary_mode')
