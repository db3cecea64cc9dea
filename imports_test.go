package rowlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/rowlock/rowlock"

// These are the clients of the stores. Each string is the beginning of an import path.
var (
	sqlDrivers = []string{
		"database/sql", "github.com/jackc/pgx", "github.com/lib/pq", "github.com/go-sql-driver/mysql",
		"modernc.org/sqlite", "github.com/mattn/go-sqlite3", "github.com/ncruces/go-sqlite3",
	}
	keyValueClients = map[string][]string{
		"Redis":     {"github.com/redis", "github.com/go-redis", "github.com/gomodule/redigo", "github.com/valkey-io"},
		"etcd":      {"go.etcd.io", "google.golang.org/grpc"},
		"ZooKeeper": {"github.com/go-zookeeper", "github.com/samuel/go-zookeeper"},
	}
	testOnly = []string{"github.com/stretchr/testify", "go.uber.org/goleak"}
)

// A package imports no client of a store other than its own.
func TestImportsStayApart(t *testing.T) {
	notRedis := slices.Concat(sqlDrivers, keyValueClients["etcd"], keyValueClients["ZooKeeper"])
	anyKeyValue := slices.Concat(keyValueClients["Redis"], keyValueClients["etcd"], keyValueClients["ZooKeeper"])
	for pkg, forbidden := range map[string][]string{
		"":          slices.Concat(sqlDrivers, anyKeyValue),
		"/driver":   slices.Concat(sqlDrivers, anyKeyValue),
		"/memlock":  slices.Concat(sqlDrivers, anyKeyValue),
		"/locktest": slices.Concat(sqlDrivers, anyKeyValue),

		"/locktest/stdio": slices.Concat(sqlDrivers, anyKeyValue),

		"/mysqlock": anyKeyValue,
		"/sqllock":  anyKeyValue,
		"/fence":    anyKeyValue,
		"/advisory": anyKeyValue,

		"/kvlock/etcdlock": slices.Concat(sqlDrivers, keyValueClients["Redis"], keyValueClients["ZooKeeper"]),

		"/kvlock/zklock": slices.Concat(sqlDrivers, keyValueClients["Redis"], keyValueClients["etcd"]),

		"/kvlock/redislock": notRedis,

		"/kvlock/redlock": notRedis,
	} {
		for _, dep := range deps(t, module+pkg) {
			assert.False(t, startsWithAny(dep, forbidden), "%s%s reaches %s", module, pkg, dep)
		}
	}
}

// The author of a backend can import the packages driver and locktest without further dependencies. These packages import only
// the standard library, this module's engine, and packages of the Go project.
func TestContractAndSuiteReachNothingElse(t *testing.T) {
	engine := []string{
		module, module + "/driver", module + "/internal/oneline", module + "/internal/clock", module + "/internal/crew", module + "/internal/backoff",
		module + "/internal/inherit",
	}
	for pkg, allowed := range map[string][]string{
		"/driver":   {module + "/driver"},
		"/memlock":  {module + "/driver", module + "/memlock", module + "/internal/oneline"},
		"":          slices.Concat(engine, []string{"golang.org/x"}),
		"/locktest": slices.Concat(engine, []string{module + "/locktest", "golang.org/x"}),
	} {
		for _, dep := range foreign(t, module+pkg) {
			ok := slices.Contains(allowed, dep) || slices.Contains(allowed, "golang.org/x") && strings.HasPrefix(dep, "golang.org/x/")
			assert.True(t, ok, "%s%s imports %s", module, pkg, dep)
		}
	}
}

// No backend imports the engine, except for the guards of etcd and ZooKeeper, which take a lease.
func TestBackendsDoNotImportTheEngine(t *testing.T) {
	for _, pkg := range []string{"/memlock", "/sqllock", "/advisory", "/mysqlock", "/kvlock/redislock", "/kvlock/redlock"} {
		assert.NotContains(t, deps(t, module+pkg), module, "%s%s imports the engine", module, pkg)
	}
	for _, folder := range []string{"kvlock/etcdlock", "kvlock/zklock"} {
		assert.Equal(t, []string{"guard.go"}, importers(t, folder, module), "the files of %s that import the engine", folder)
	}
}

// importers returns the names of the files in a folder that import path. The files of tests are left out.
func importers(t *testing.T, folder, path string) (names []string) {
	t.Helper()
	for _, name := range goList(t, "-f", `{{join .GoFiles " "}}`, "./"+folder) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.ImportsOnly)
		require.NoError(t, err)
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) }) {
			names = append(names, name)
		}
	}
	return names
}

// Only the command imports the clients of two key-value stores.
func TestNoPackageImportsTwoClients(t *testing.T) {
	for _, pkg := range packages(t) {
		if startsWithAny(pkg, []string{module + "/cmd", module + "/internal"}) {
			continue
		}
		all := deps(t, pkg)
		var reached []string
		for store, clients := range keyValueClients {
			if slices.ContainsFunc(all, func(dep string) bool { return startsWithAny(dep, clients) }) {
				reached = append(reached, store)
			}
		}
		assert.LessOrEqual(t, len(reached), 1, "%s imports the clients of %v", pkg, reached)
	}
}

// Only otellock imports OpenTelemetry.
func TestTelemetryIsAPackageOfItsOwn(t *testing.T) {
	others := slices.DeleteFunc(packages(t), func(pkg string) bool { return pkg == module+"/otellock" })
	for _, dep := range deps(t, others...) {
		assert.False(t, startsWithAny(dep, []string{"go.opentelemetry.io"}), "a package other than otellock imports %s", dep)
	}
	for _, dep := range deps(t, module+"/otellock") {
		assert.False(t, startsWithAny(dep, []string{"go.opentelemetry.io/otel/sdk", "github.com/prometheus"}), "the program chooses the SDK: %s", dep)
	}
}

// Only tests, and the package that runs them, import testing tools.
func TestTestingToolsStayInTests(t *testing.T) {
	others := slices.DeleteFunc(packages(t), func(pkg string) bool { return pkg == module+"/internal/leaks" })
	for _, dep := range deps(t, others...) {
		assert.False(t, startsWithAny(dep, testOnly), "a package that is no test imports %s", dep)
	}
}

func packages(t *testing.T) []string { return goList(t, "./...") }

// deps returns pkgs, and every package that they import directly or indirectly. Imports of tests do not count.
func deps(t *testing.T, pkgs ...string) []string {
	return goList(t, append([]string{"-deps"}, pkgs...)...)
}

// foreign returns deps without the standard library.
func foreign(t *testing.T, pkg string) []string {
	return goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg)
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list %v: %s", args, stderr.String())
	return strings.Fields(string(out))
}

// startsWithAny reports whether path is one of the prefixes, or the path of a package below it.
func startsWithAny(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}
