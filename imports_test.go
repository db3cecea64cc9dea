package rowlock_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	require.Contains(t, deps(t, module+"/kvlock/etcdlock"), "google.golang.org/grpc", "what is imported indirectly is found")
	require.Contains(t, deps(t, module+"/sqllock"), "database/sql", "what is imported from the standard library is found")
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
	for _, name := range lookUp(t, module+"/"+folder).GoFiles {
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

// listed is what the go command says about a package.
type listed struct {
	ImportPath string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Module     *struct{ Main bool }
}

// graph returns every package of this module, and every package that they import directly or indirectly, by path. The
// go command runs once for all tests. Imports of tests do not count.
var graph = sync.OnceValues(func() (map[string]listed, error) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,GoFiles,Imports,Module", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// lookUp returns what is known about a package.
func lookUp(t *testing.T, pkg string) listed {
	t.Helper()
	all, err := graph()
	require.NoError(t, err)
	p, ok := all[pkg]
	require.True(t, ok, "there is no package %s", pkg)
	return p
}

// packages returns the packages of this module.
func packages(t *testing.T) (own []string) {
	t.Helper()
	all, err := graph()
	require.NoError(t, err)
	for path, p := range all {
		if p.Module != nil && p.Module.Main {
			own = append(own, path)
		}
	}
	require.Greater(t, len(own), 50)
	slices.Sort(own)
	return own
}

// deps returns pkgs, and every package that they import directly or indirectly.
func deps(t *testing.T, pkgs ...string) (reached []string) {
	t.Helper()
	seen := map[string]bool{"C": true, "unsafe": true}
	for next := slices.Clone(pkgs); len(next) > 0; {
		pkg := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		reached, next = append(reached, pkg), append(next, imported(t, pkg)...)
	}
	return reached
}

// imported returns the packages that pkg imports. The standard library has copies of some packages of golang.org/x.
func imported(t *testing.T, pkg string) []string {
	t.Helper()
	p := lookUp(t, pkg)
	if p.Standard {
		return nil
	}
	return p.Imports
}

// foreign returns deps without the standard library.
func foreign(t *testing.T, pkg string) []string {
	t.Helper()
	return slices.DeleteFunc(deps(t, pkg), func(dep string) bool { return lookUp(t, dep).Standard })
}

// startsWithAny reports whether path is one of the prefixes, or the path of a package below it.
func startsWithAny(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}
