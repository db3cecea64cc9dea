// Package testenv gives each test a fresh database on real servers, so that all tests can run at the same
// time. Environment variables name the servers, and "make test" starts them and sets the variables.
package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
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
const limit = 2 * time.Minute

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

// Compat skips the test unless "make compat" runs it. A test of a further handle, pooler, fork or version of a server
// begins with Compat, and its name begins with TestCompat, by which "make compat" selects it. "make test" runs each
// promise on the main handle of each backend only.
//
// ROWLOCK_COMPAT is "all", or a share such as "2/3". A share selects tests by a hash of their names. So the shares 1/3,
// 2/3 and 3/3 together run every test once. A test with subtests calls Compat in each subtest.
func Compat(tb testing.TB) {
	tb.Helper()
	share := os.Getenv("ROWLOCK_COMPAT")
	switch in, err := inShare(tb.Name(), share); {
	case err != nil:
		tb.Fatal(err)
	case share == "":
		tb.Skip("a further handle or server: \"make compat\" runs it")
	case !in:
		tb.Skip("not in this share: ROWLOCK_COMPAT=" + share)
	}
}

// inShare reports whether the test with this name belongs to the share.
func inShare(name, share string) (bool, error) {
	switch share {
	case "":
		return false, nil
	case "all":
		return true, nil
	}
	part, of, found := strings.Cut(share, "/")
	i, err := strconv.ParseUint(part, 10, 32)
	n, err2 := strconv.ParseUint(of, 10, 32)
	if !found || err != nil || err2 != nil || i < 1 || i > n {
		return false, fmt.Errorf("ROWLOCK_COMPAT=%q: write all, or a share such as 2/3", share)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return uint64(h.Sum32())%n == i-1, nil
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
