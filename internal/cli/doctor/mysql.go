package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
)

func (s database) mysqlChecks() []check {
	needed := s.mysqlPrivileges()
	return []check{{"server", s.mysqlServer}, s.schemaCheck(needed), {"engine", s.engineCheck}, s.privilegesCheck(needed), clockCheck("the server", s.clockOf)}
}

func (s database) mysqlPrivileges() []privilege {
	if s.At.Session != "" {
		return ofCounter
	}
	return ofLeaseRows
}

// account matches 'user'@'host' in MySQL's error for a missing privilege on a database.
const account = `for user ('[^'\\]*'@'[^'\\]*') to database`

// mayNotUse is called with the error that a user gets if the user can log in to the server but has no privilege in the
// database. It reports the missing privileges, and ends the examination.
func (s database) mayNotUse(r *Report, err error) {
	needed := s.mysqlPrivileges()
	database := "`" + strings.ReplaceAll(s.At.MySQL.DBName, "`", "``") + "`"
	do := "grant those in the documentation of package migrations"
	if user := submatch(account, err.Error()); user != "" {
		do = "as an administrator: USE " + database + "; " + s.grants(append(needed[:len(needed):len(needed)], ofHistory...), user)
	}
	r.silent = true
	r.problem("privileges", "this user has no privilege in the database "+database, do)
}

func (s database) mysqlServer(ctx context.Context, r *Report) error {
	facts, err := s.facts(ctx, "facts")
	if sqlerror.MySQL(err) == 1044 {
		s.mayNotUse(r, err)
		return nil
	}
	if err != nil {
		r.unreachable(err)
		return nil
	}
	r.ok("connection", mysqlName(facts["version"])+" answers")
	s.boundCheck(r)
	if tooOld := mysqlTooOld(facts["version"]); tooOld != "" {
		r.problem("version", mysqlName(facts["version"])+" is not supported", tooOld)
	}
	on := func(name string) bool { return facts[name] == "ON" || facts[name] == "1" }
	if on("read_only") || on("super_read_only") {
		r.problem("primary", "the server is read-only (read_only)", "name the server that accepts writes in --store")
	}
	several := on("wsrep_on") || facts["group_replication_group_name"] != "" && !on("group_replication_single_primary_mode")
	switch {
	case several && s.At.Session != "":
		r.problem("cluster", "the server is one of several that accept writes, and GET_LOCK does not exclude clients of the other servers",
			"keep locks as lease rows (--store mysql://…), or make every program use the same node")
	case several:
		r.warn("cluster", "the server is one of several that accept writes", "make every program use the same node: if requests alternate between two nodes, no lock is granted")
	}
	mysqlDurability(r, facts)
	return nil
}

func mysqlDurability(r *Report, facts map[string]string) {
	found := false
	if v := facts["innodb_flush_log_at_trx_commit"]; v != "1" && v != "3" && v != "" { // the values 1 and 3 flush at each commit; only MariaDB has the value 3
		r.problem("durability", "innodb_flush_log_at_trx_commit="+v+": a crash of the machine loses the grants of the last second", "set innodb_flush_log_at_trx_commit=1")
		found = true
	}
	if v := facts["sync_binlog"]; facts["log_bin"] == "ON" && v != "1" && v != "" {
		r.warn("durability", "sync_binlog="+v+": after a crash of the machine, a replica may have more or less data than the server", "set sync_binlog=1")
		found = true
	}
	if facts["log_bin"] == "ON" && facts["binlog_format"] == "STATEMENT" {
		r.warn("replication", "binlog_format=STATEMENT: the tokens of a replica may differ", "set binlog_format=ROW")
	}
	if !found {
		r.ok("durability", "commits are durable")
	}
}

// engineCheck reports each lock table whose storage engine has no transactions.
func (s database) engineCheck(ctx context.Context, r *Report) error {
	table := s.Table.Name()
	engines, err := s.facts(ctx, "engines", s.Table.Schema(), table, table, table, table)
	if err != nil {
		return err
	}
	for name, engine := range engines {
		if engine != "InnoDB" {
			r.problem("engine", fmt.Sprintf("the table %s uses %s, which has no transactions", name, engine), "ALTER TABLE "+name+" ENGINE = InnoDB")
		}
	}
	return nil
}

func mysqlName(version string) string {
	if strings.Contains(version, "MariaDB") {
		return version
	}
	return "MySQL " + version
}

// mysqlTooOld returns the advice for a server version that is too old. For a supported version, or a version that it
// cannot parse, it returns an empty text.
func mysqlTooOld(version string) string {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	mariadb := strings.Contains(version, "MariaDB")
	switch {
	case sqlserver.Supported(version) != nil:
		return "keep locks in MySQL, MariaDB, or another store"
	case err != nil:
		return ""
	case mariadb && (major < 10 || major == 10 && minor < 6):
		return "update it to MariaDB 10.6 or newer"
	case !mariadb && major < 8:
		return "update it to MySQL 8.0 or newer"
	}
	return ""
}
