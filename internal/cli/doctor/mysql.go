package doctor

import (
	"context"
	"fmt"
	"regexp"
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

// account finds the user and the host that MySQL looks a user up by, in its refusal of a database.
var account = regexp.MustCompile(`for user ('[^'\\]*'@'[^'\\]*') to database`)

// mayNotUse ends the examination for a user that the server knows and that has no privilege in the database.
func (s database) mayNotUse(r *Report, err error) {
	needed := s.mysqlPrivileges()
	database := "`" + strings.ReplaceAll(s.At.MySQL.DBName, "`", "``") + "`"
	do := "give it those that the documentation of package migrations names"
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
		r.problem("version", mysqlName(facts["version"])+" does not do", tooOld)
	}
	on := func(name string) bool { return facts[name] == "ON" || facts[name] == "1" }
	if on("read_only") || on("super_read_only") {
		r.problem("primary", "the server is read-only (read_only)", "name the one that takes writes in --store")
	}
	several := on("wsrep_on") || facts["group_replication_group_name"] != "" && !on("group_replication_single_primary_mode")
	switch {
	case several && s.At.Session != "":
		r.problem("cluster", "the server is one of several that take writes, and GET_LOCK excludes on one of them only",
			"keep locks as lease rows (--store mysql://…), or have every program reach the same node")
	case several:
		r.warn("cluster", "the server is one of several that take writes", "have every program reach the same node: where two take turns, nothing is granted")
	}
	mysqlDurability(r, facts)
	return nil
}

func mysqlDurability(r *Report, facts map[string]string) {
	found := false
	if v := facts["innodb_flush_log_at_trx_commit"]; v != "1" && v != "3" && v != "" { // 3 is MariaDB's, and flushes as 1 does
		r.problem("durability", "innodb_flush_log_at_trx_commit="+v+": a crash of the machine forgets the grants of the last second", "set innodb_flush_log_at_trx_commit=1")
		found = true
	}
	if v := facts["sync_binlog"]; facts["log_bin"] == "ON" && v != "1" && v != "" {
		r.warn("durability", "sync_binlog="+v+": after a crash of the machine a replica may know more, or less, than the server", "set sync_binlog=1")
		found = true
	}
	if facts["log_bin"] == "ON" && facts["binlog_format"] == "STATEMENT" {
		r.warn("replication", "binlog_format=STATEMENT: the tokens of a replica may differ", "set binlog_format=ROW")
	}
	if !found {
		r.ok("durability", "what is committed is on the disk")
	}
}

// engineCheck wants tables that take part in transactions.
func (s database) engineCheck(ctx context.Context, r *Report) error {
	table := s.Table.Name()
	engines, err := s.facts(ctx, "engines", s.Table.Schema(), table, table, table)
	if err != nil {
		return err
	}
	for name, engine := range engines {
		if engine != "InnoDB" {
			r.problem("engine", fmt.Sprintf("the table %s is kept by %s, which knows no transactions", name, engine), "ALTER TABLE "+name+" ENGINE = InnoDB")
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

// mysqlTooOld says what to do about a version that does not do; nothing about one that does, or is not understood.
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
