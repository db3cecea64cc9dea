// Package testenv gives a test the real database servers that it needs, and a database of its own on each, so that all
// tests can run at the same time. The servers are whatever the environment names; "make test" provides them.
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

// The engines that a DSN can be asked for.
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

// limit bounds what a helper does on a server: one that hangs fails the test instead of hanging it too.
const limit = 30 * time.Second

// DSN returns how to reach the test server of an engine. Without one the test is skipped, or fails if ROWLOCK_REQUIRE is
// "all": then nothing may be left out.
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

// freshName is a database name that no other test has, in this process or in another.
func freshName() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return "rowlock_" + hex.EncodeToString(b)
}

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}
