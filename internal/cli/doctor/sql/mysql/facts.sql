-- Parameters: none. Result: one row for each setting of the server: its name and its value. Promise: reads only.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'read_only', 'super_read_only', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog',
    'binlog_format', 'wsrep_on', 'group_replication_group_name', 'group_replication_single_primary_mode')
