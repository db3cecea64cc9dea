package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/internal/testserver"
)

// server is one release of a server, and the suites that run on that release.
type server struct {
	name    string
	engine  string // if nil, the command starts no server itself
	version string // in the form that the package testserver expects
	as      string // the engine's name in test names, if it differs from the field engine
	suites  []suite
	absent  string // why the release is not available
}

var (
	onPostgres = []suite{{pkg: "sqllock", run: "^Test(Compat)?Conformance$/^(postgres|pgx)$"}, {pkg: "internal/sqlfunctions", run: sqlFunctions}, {pkg: "advisory", run: "^Test(Compat)?Conformance$/^(pgx|stdlib|one-session|pgx-no-token)$"}}
	onPooler   = []suite{{pkg: "sqllock", run: "^TestCompatConformance$/^pgbouncer(-pgx)?$"}}
	onMySQL    = []suite{{pkg: "sqllock", run: "^TestConformance$/^mysql$"}, {pkg: "mysqlock", run: "^Test(Compat)?Conformance$/^(mysql|interpolating|mysql-no-token)$"}}
	onMariaDB  = []suite{{pkg: "sqllock", run: "^TestConformance$/^mariadb$"}, {pkg: "mysqlock", run: "^Test(Compat)?Conformance$/^(mariadb|one-session|mariadb-no-token)$"}}
	onRedis    = []suite{{pkg: "kvlock/redislock", run: "^TestConformance$"}, {pkg: "kvlock/redislock", run: "^TestCompatConformance$/^redis-deadlines-not-heeded$"}}
	onValkey   = []suite{{pkg: "kvlock/redislock", run: "^TestCompatConformance$/^valkey$"}}
	onEtcd     = []suite{{pkg: "kvlock/etcdlock", run: "^TestConformance$"}}
	onZoo      = []suite{{pkg: "kvlock/zklock", run: "^TestConformance$"}}
)

// sqlFunctions selects the conformance suite of the functions, and the tests of the functions that the suite does not call.
const sqlFunctions = "^Test(Conformance|AcquireWaitsAndIsBounded|LockInTxWaits|ASealWaitsForCheckedTransactions|ACheckRefusesAStaleLeaseAtEveryLevel)$"

var servers = all()

func all() (list []server) {
	add := func(s server) { list = append(list, s) }
	add(server{name: "PostgreSQL", engine: testserver.Postgres, suites: onPostgres})
	for _, v := range testserver.PostgresVersions {
		add(server{name: "PostgreSQL", engine: testserver.Postgres, version: v, suites: onPostgres})
	}
	add(server{name: "PgBouncer, transactions", engine: testserver.PgBouncer, suites: onPooler})
	add(server{name: "PgBouncer, transactions", engine: testserver.NewPgBouncer, as: testserver.PgBouncer, suites: onPooler})
	add(server{name: "MySQL", engine: testserver.MySQL, suites: onMySQL})
	add(server{name: "MySQL", version: "8.0, 8.4", absent: "no suite of Debian has it"})
	add(server{name: "MariaDB", engine: testserver.MariaDB, suites: onMariaDB})
	add(server{name: "MariaDB", engine: testserver.MariaDB, version: "trixie", suites: onMariaDB})
	add(server{name: "TiDB, Vitess", absent: "refused by name"})
	add(server{name: "CockroachDB, YugabyteDB", absent: "refused by name"})
	add(server{name: "SQLite, modernc", version: "v1.60.1", suites: []suite{{pkg: "sqllock", run: "^TestConformanceOfSQLite$"}}})
	for _, d := range []string{"mattn", "ncruces"} {
		add(server{name: "SQLite, " + d, suites: []suite{{pkg: here, run: "^TestConformanceOfSQLiteDrivers$", tags: "sqlite_" + d}}})
	}
	add(server{name: "Redis", engine: testserver.Redis, suites: onRedis})
	add(server{name: "Redis", engine: testserver.Redis, version: "sid", suites: onRedis})
	add(server{name: "Valkey", engine: testserver.Valkey, suites: onValkey})
	add(server{name: "etcd", engine: testserver.Etcd, version: testserver.EtcdVersion, suites: onEtcd})
	add(server{name: "etcd", engine: testserver.Etcd, version: testserver.EtcdOldVersion, suites: onEtcd})
	add(server{name: "ZooKeeper", engine: testserver.ZooKeeper, suites: onZoo})
	add(server{name: "ZooKeeper, three servers", version: "3.9, of Debian sid", suites: []suite{{pkg: "kvlock/zklock", run: "^TestCompatEnsemble$"}}})
	return list
}

// run starts the server, and runs the server's suites.
func (s server) run(ctx context.Context, all *suites) (rows []result) {
	row := result{server: s.name, version: s.version}
	if s.absent != "" {
		row.problem, row.absent = s.absent, true
		return []result{row}
	}
	environment := []string{"ROWLOCK_COMPAT=all"} // the matrix runs the tests of further handles, too
	if s.engine != "" {
		o := testserver.Options{Version: s.version, Logf: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
		if s.engine == testserver.PgBouncer || s.engine == testserver.NewPgBouncer {
			behind, err := testserver.Start(ctx, testserver.Postgres, testserver.Options{})
			if err != nil {
				row.problem = err.Error()
				return []result{row}
			}
			defer behind.Stop()
			o.Postgres = behind.DSN
			environment = append(environment, testserver.Variable(testserver.Postgres)+"="+behind.DSN)
		}
		server, err := testserver.Start(ctx, s.engine, o)
		if err != nil {
			row.problem = strings.Join(strings.Fields(err.Error()), " ")
			return []result{row}
		}
		defer server.Stop()
		known := s.engine
		if s.as != "" {
			known = s.as
		}
		environment = append(environment, testserver.Variable(known)+"="+server.DSN)
		if v := release(server); v != "" {
			row.version = v
		}
	} else if s.name == "ZooKeeper, three servers" { // the suite itself starts the three servers
		environment = append(environment, testserver.Variable(testserver.ZooKeeper)+"=none")
	}
	for _, of := range s.suites {
		row.suite = of
		rows = append(rows, all.do(ctx, row, environment))
	}
	return rows
}

// release returns the version that the server reports, or an empty text if the version is known from the server's program.
func release(s *testserver.Server) (v string) {
	switch s.Engine {
	case testserver.Postgres:
		v = ask("pgx", s.DSN, "SHOW server_version")
		v, _, _ = strings.Cut(v, " ")
	case testserver.MySQL, testserver.MariaDB:
		v = ask("mysql", s.DSN, "SELECT VERSION()")
		v, _, _ = strings.Cut(v, "-")
	case testserver.PgBouncer, testserver.NewPgBouncer: // PgBouncer reports its version when it starts
		text, _ := os.ReadFile(filepath.Join(s.Folder, "log"))
		v = first(`PgBouncer ([0-9.]+)`, string(text))
	case testserver.Redis, testserver.Valkey:
		v = first(`(?:valkey|redis)_version:(\S+)`, talk(s.Addr, "INFO server\r\n"))
		if s.Engine == testserver.Valkey {
			v = first(`valkey_version:(\S+)`, talk(s.Addr, "INFO server\r\n"))
		}
	case testserver.ZooKeeper:
		v = first(`version: ([0-9.]+)`, talk(s.Addr, "srvr"))
	}
	return v
}

func ask(driver, dsn, query string) (answer string) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return ""
	}
	defer db.Close() //nolint:errcheck // the handle is no longer needed
	_ = db.QueryRow(query).Scan(&answer)
	return answer
}

// talk sends a line, and returns the bytes that arrive within a second.
func talk(addr, line string) string {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close() //nolint:errcheck // the connection is no longer needed
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, line)
	text, _ := io.ReadAll(conn)
	return string(text)
}

func first(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
