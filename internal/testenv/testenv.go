// Package testenv gives each test a fresh database on real servers, so that all tests can run at the same
// time. Environment variables name the servers, and "make test" starts them and sets the variables.
package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"
)

// These are the engines that DSN accepts.
const (
	EnginePostgres     = "postgres"
	EngineMySQL        = "mysql"
	EngineMariaDB      = "mariadb"
	EnginePgBouncer    = "pgbouncer"
	EngineNewPgBouncer = "pgbouncer_new"
	EngineEtcd         = "etcd"
	EngineZooKeeper    = "zookeeper"
	EngineRedis        = "redis"
	EngineValkey       = "valkey"
)

// limit is the time limit of each helper. If the server does not answer, the test fails instead of hanging.
const limit = 30 * time.Second

// DSN returns the DSN of the test server of an engine. If there is none, it skips the test. It fails the test
// instead if ROWLOCK_REQUIRE is "all", which means that no test may be skipped.
func DSN(tb testing.TB, engine string) string {
	tb.Helper()
	variable := "ROWLOCK_TEST_" + strings.ToUpper(engine)
	dsn := os.Getenv(variable)
	switch {
	case dsn != "":
	case os.Getenv("ROWLOCK_REQUIRE") == "all":
		tb.Fatalf("%s is not set, and ROWLOCK_REQUIRE=all; \"make test\" starts a %s server and sets it", variable, engine)
	default:
		tb.Skipf("needs a %s server: %s is not set; \"make test\" starts one and sets it", engine, variable)
	}
	return dsn
}

// freshName returns a database name that no other test has, in any process.
func freshName() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return "rowlock_" + hex.EncodeToString(b)
}

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}
