-- Parameters: none.
-- Result: a row for each of these settings that the server has: its name and its value.
-- Promise: reads only.
SHOW VARIABLES WHERE Variable_name IN (
    'wsrep_on', 'binlog_format', 'log_bin', 'group_replication_group_name', 'group_replication_single_primary_mode')
