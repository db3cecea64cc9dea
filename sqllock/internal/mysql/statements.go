package mysql

import "embed"

// What differs on MariaDB is in a folder of its own, whose statements take the place of those of MySQL.
//
//go:embed sql/mysql/*.sql sql/mariadb/*.sql
var files embed.FS
