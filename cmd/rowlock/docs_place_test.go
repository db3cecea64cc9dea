//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// job stands for the script that a reader of the page would run. The script does nothing, or blocks until all other
// commands have run, so that its lock stays held.
const job = `#!/bin/sh
[ -z "$HOLD" ] && exit
touch at-work
until [ -e done ]; do sleep 0.02; done
`

// furnish writes files into the console's folder. A reader of the page would have these files: a job to run,
// certificates, and the client programs of the servers.
func (c *console) furnish(t *testing.T) {
	t.Helper()
	bin := strings.Split(strings.TrimPrefix(c.place.path(), "PATH="), ":")[0]
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "sqlite3")))
	if slices.ContainsFunc(c.steps, func(s *step) bool { return strings.HasPrefix(s.command, "psql ") }) {
		require.NoError(t, os.Symlink(psql(t), filepath.Join(bin, "psql")))
	}
	for _, name := range []string{"report.sh", "backup.sh"} {
		require.NoError(t, os.WriteFile(filepath.Join(c.place.dir, name), []byte(job), 0o700))
	}
	c.ours = certificate(t)
	for name, from := range map[string]string{"ca.pem": c.ours.cert, "cert.pem": c.ours.cert, "key.pem": c.ours.key} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(c.place.dir, name), text, 0o600))
	}
	if cli, err := exec.LookPath("redis-cli"); err == nil {
		wrapper := fmt.Sprintf("#!/bin/sh\nexec %s -u \"$(cat redis-url)\" \"$@\"\n", cli)
		require.NoError(t, os.WriteFile(filepath.Join(bin, "redis-cli"), []byte(wrapper), 0o700))
	}
}

// psql returns the path of psql. If this machine cannot have it, the test is skipped, unless no test may be skipped.
func psql(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), consoleTimeout)
	defer cancel()
	path, err := testserver.Psql(ctx, testserver.Options{Logf: t.Logf})
	if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return path
}

// tellRedis makes redis-cli connect to the server at addr.
func (c *console) tellRedis(t *testing.T, addr string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(c.place.dir, "redis-url"), []byte("redis://"+addr), 0o600))
}

var (
	located = regexp.MustCompile(`[a-z0-9+-]+://[^\s'"#]+|sqlite:[^\s'"#]+|\w+@tcp\([^)]*\)/\w+[^\s'"#]*`)
	getting = regexp.MustCompile(`(?m)^go get .*$`)
)

// real returns the command text with the addresses of this machine's test servers in place of the addresses on the
// page.
func (c *console) real(t *testing.T, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, "go run ./cmd/rowlock", "rowlock")
	text = strings.ReplaceAll(text, "/var/lib/app/", c.place.dir+"/")
	text = getting.ReplaceAllStringFunc(text, func(string) string { return c.modules(t) })
	var b strings.Builder
	last := 0
	for _, at := range located.FindAllStringIndex(text, -1) {
		store := text[at[0]:at[1]]
		scheme, _, _ := strings.Cut(store, ":")
		if scheme == "sqlite" || scheme == "https" {
			continue
		}
		if c.stands[store] == "" {
			c.stands[store] = c.server(t, scheme, store)
		}
		quote := "'"
		if at[0] > 0 && strings.ContainsAny(text[at[0]-1:at[0]], `'"`) {
			quote = ""
		}
		b.WriteString(text[last:at[0]] + quote + c.stands[store] + quote)
		last = at[1]
	}
	return b.String() + text[last:]
}

// server returns the address of a test server that replaces a store on the page, with the options from the page.
func (c *console) server(t *testing.T, scheme, store string) string {
	t.Helper()
	u, err := url.Parse(regexp.MustCompile(`//([^/]*@)?[^/?]*`).ReplaceAllString(store, "//$1"+"server"))
	if strings.Contains(store, "@tcp(") {
		u, err = &url.URL{}, nil
	}
	require.NoError(t, err, store)
	secured := func(start func(testing.TB, pair) string) string {
		return scheme + "://" + account + start(t, c.ours) + "ca=ca.pem&cert=cert.pem&key=key.pem"
	}
	own := func(engine string, args ...string) string { return startServer(t, engine, args...).Addr }
	with := func(at string) string {
		if u.RawQuery != "" {
			return at + "?" + u.RawQuery
		}
		return at
	}
	switch scheme {
	case "postgres":
		if u.Query().Get("sslmode") == "verify-full" {
			return securedPostgres(t, c.ours) + "?" + u.RawQuery
		}
		return testenv.Postgres(t)
	case "postgres-advisory":
		return migrated(t, c.place, strings.Replace(testenv.Postgres(t), "postgres://", "postgres-advisory://", 1))
	case "mysql-getlock":
		return migrated(t, c.place, "mysql-getlock:"+testenv.MySQL(t))
	case "redis":
		addr := own(testserver.Redis)
		c.tellRedis(t, addr)
		return with("redis://" + addr + u.Path)
	case "redis+cluster":
		addr := own(testserver.Redis, "--cluster-enabled", "yes")
		wholeCluster(t, addr)
		return with("redis+cluster://" + addr)
	case "redlock":
		at := redlockStore(t)(t, c.place)
		addr, _, _ := strings.Cut(strings.TrimPrefix(at, "redlock://"), ",")
		c.tellRedis(t, addr)
		return at
	case "etcd":
		return "etcd://" + strings.TrimPrefix(testenv.DSN(t, testenv.EngineEtcd), "http://") + "/" + prefix()
	case "zk":
		return zookeeperStore(t, c.place)
	case "rediss":
		return secured(func(tb testing.TB, p pair) string { return securedRedis(tb, p) + "/?prefix=secured:&" })
	case "rediss+cluster":
		return secured(securedRedisCluster)
	case "etcds":
		return secured(securedEtcd)
	case "zks":
		return secured(securedZooKeeper)
	}
	if u.Query().Get("tls") == "true" {
		return securedMySQL(t, c.ours) + "?" + u.RawQuery
	}
	return testenv.MySQL(t)
}

// securedMySQL returns the store address of a MySQL server that has a certificate and rejects clients without TLS.
func securedMySQL(tb testing.TB, p pair) string {
	tb.Helper()
	s := startServer(tb, testserver.MySQL, "--ssl-ca="+p.cert, "--ssl-cert="+p.cert, "--ssl-key="+p.key)
	db, err := sql.Open("mysql", s.DSN)
	require.NoError(tb, err)
	defer db.Close()
	_, err = db.ExecContext(tb.Context(), "SET GLOBAL require_secure_transport = ON")
	require.NoError(tb, err)
	config, err := mysql.ParseDSN(s.DSN)
	require.NoError(tb, err)
	return "mysql://" + config.User + "@" + s.Addr + "/" + config.DBName
}

// modules returns settings with which "go get" works without a network. "go get" then finds only the modules on which
// this repository depends.
func (c *console) modules(t *testing.T) string {
	t.Helper()
	own, err := os.ReadFile(filepath.Join(c.root, "go.mod"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(c.root, "go.sum"))
	require.NoError(t, err)
	needs := strings.ReplaceAll(string(own[strings.Index(string(own), "go 1"):]), " // indirect", "")
	needs += "\nrequire github.com/rowlock/rowlock v0.0.0-00010101000000-000000000000\nreplace github.com/rowlock/rowlock => " + c.root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(c.place.dir, "needs"), []byte(needs), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(c.place.dir, "sums"), sums, 0o600))
	return `grep ^module go.mod >head && cat head ` + c.place.dir + `/needs >go.mod && cp ` + c.place.dir + `/sums go.sum`
}

func init() { programs["sqlite3"] = sqlite3 } // the consoles of the pages use it

// sqlite3 replaces the program sqlite3. It implements only the features that the pages use.
func sqlite3() error {
	db, err := sql.Open("sqlite", os.Args[1])
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), os.Args[2])
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			return err
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String)
		}
		fmt.Println(strings.Join(texts, "|"))
	}
	return rows.Err()
}
