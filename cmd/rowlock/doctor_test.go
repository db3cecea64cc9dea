//go:build unix

package main

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	etcdserverpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// If a store is set up as its page says, doctor finds no problem, in its JSON output and in its text output.
func TestDoctorFindsNothingWhereNothingIs(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	postgres := startDurable(t, testserver.Postgres).DSN
	for name, store := range map[string]string{
		"no file yet": "sqlite:none.db",
		"file":        migrated(t, w, "sqlite:locks.db"),
		"postgres":    migrated(t, w, postgres),
		"advisory":    strings.Replace(postgres, "postgres://", "postgres-advisory://", 1),
		"redis":       strings.Replace(startDurable(t, testserver.Redis).DSN, "/0", "", 1),
		"etcd":        etcdStore(t, w),
		"zookeeper":   strings.Replace(zookeeperStore(t, w), "zk://", "zk://app:secret@", 1),
	} {
		found, d := w.doctor(t, store)
		assert.Empty(t, found, "%s:\n%s", name, d.text())
	}
	code, output := w.run(t, "doctor", "--store", with(postgres, "connect_timeout", "5"))
	assert.Zero(t, code, output)
	assert.Regexp(t, `^(ok +\w+ +\S.*\n)+$`, output)
	require.NoFileExists(t, filepath.Join(w.dir, "none.db"), "it writes nothing")
}

// doctor warns that ZooKeeper's nodes are created without authentication, so every client that can connect can change
// them.
func TestDoctorOnZooKeeper(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	found, d := w.doctor(t, zookeeperStore(t, w))
	assert.Equal(t, []string{"warning settings"}, found, d.text())
	assert.Contains(t, d.text(), "without authentication")
}

// doctor warns of an address without a timeout, with which a program could wait forever for a server that does not
// answer. The warning names the missing parameter.
func TestDoctorFindsAnUnboundedConnect(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	connect := func(store string) (does []string) {
		t.Helper()
		_, d := w.doctor(t, store)
		for _, f := range d.Findings {
			if f.Check == "connect" {
				assert.Equal(t, "warning", f.Severity)
				does = append(does, f.Do)
			}
		}
		return does
	}
	postgres, mysql := testenv.Postgres(t), testenv.MySQL(t)
	assert.Equal(t, []string{"add connect_timeout=5 to the address"}, connect(postgres))
	assert.Empty(t, connect(with(postgres, "connect_timeout", "5")))
	mysql, _, _ = strings.Cut(mysql, "?")
	assert.Equal(t, []string{"add timeout=5s&readTimeout=30s to the address"}, connect(mysql))
	assert.Equal(t, []string{"add readTimeout=30s to the address"}, connect(mysql+"?timeout=5s"))
	assert.Empty(t, connect(mysql+"?timeout=5s&readTimeout=30s"))
}

func startDurable(tb testing.TB, engine string) *testserver.Server {
	tb.Helper()
	testenv.DSN(tb, engine)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := testserver.Start(ctx, engine, testserver.Options{Durable: true})
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// doctor finds each problem that the test creates on a Postgres server, and no other problem. The test servers do not
// flush to disk, so doctor always reports that problem.
func TestDoctorOnPostgres(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	const durability = "problem durability"
	empty := testenv.Postgres(t)
	found, d := w.doctor(t, empty)
	assert.Equal(t, []string{durability, "problem schema"}, found, d.text())
	assert.Contains(t, d.text(), "rowlock migrate up --store 'postgres://")
	found, d = w.doctor(t, advisoryOf(empty))
	assert.Equal(t, []string{durability, "problem schema"}, found, d.text())

	good := migrated(t, w, testenv.Postgres(t))
	found, d = w.doctor(t, good)
	assert.Equal(t, []string{durability}, found, d.text())
	found, d = w.doctor(t, with(good, "synchronous_commit", "off"))
	assert.Equal(t, []string{durability, "warning durability"}, found, d.text())
	assert.Contains(t, d.text(), "set synchronous_commit=on")
	found, d = w.doctor(t, with(good, "default_transaction_read_only", "on"))
	assert.Equal(t, []string{durability, "problem primary"}, found, d.text())

	code, output := w.run(t, "migrate", "down", "--store", good)
	require.Zero(t, code, output)
	found, d = w.doctor(t, good)
	assert.Equal(t, []string{durability, "problem schema"}, found, d.text())
	assert.Contains(t, d.text(), "00004_run.sql")
	migrated(t, w, good)

	role := "doctor_" + strings.TrimPrefix(databaseOf(good), "rowlock_")
	db, err := sql.Open("pgx", good)
	require.NoError(t, err)
	defer db.Close()
	do := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	do("CREATE ROLE " + role + " LOGIN")
	defer do("DROP OWNED BY " + role + "; DROP ROLE " + role)
	u, err := url.Parse(good)
	require.NoError(t, err)
	u.User = url.User(role)
	do("GRANT SELECT, INSERT ON rowlock_lease TO " + role)
	found, d = w.doctor(t, u.String())
	assert.Equal(t, []string{durability, "problem privileges", "warning privileges"}, found, d.text())
	assert.Contains(t, d.text(), "GRANT UPDATE ON rowlock_lease TO "+role+";")
	assert.NotContains(t, d.text(), "INSERT ON rowlock_lease TO")
	do("GRANT UPDATE (token, nonce, holder, note, acquired_at, expires_at, held_until, reserved_for, done) ON rowlock_lease TO " + role)
	_, d = w.doctor(t, u.String())
	assert.Contains(t, d.text(), "GRANT UPDATE ON rowlock_lease TO "+role+";", "the columns of shared locks are missing")
	found, d = w.doctor(t, advisoryOf(u.String()))
	assert.Equal(t, []string{durability, "problem privileges", "warning privileges"}, found, d.text())
	assert.Contains(t, d.text(), "GRANT USAGE ON SEQUENCE rowlock_lease_token TO "+role+";")
	for _, grant := range []string{ // these privileges are listed in migrations/doc.go
		"SELECT, INSERT, UPDATE ON rowlock_lease", "SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_waiter",
		"SELECT, UPDATE (epoch, quarantined_until, longest_ttl_us) ON rowlock_lease_meta", "SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_run",
		"USAGE ON SEQUENCE rowlock_lease_token",
	} {
		do("GRANT " + grant + " TO " + role)
	}
	for _, store := range []string{u.String(), advisoryOf(u.String())} {
		found, d = w.doctor(t, store)
		assert.Equal(t, []string{durability}, found, d.text())
	}

	do("REVOKE EXECUTE ON FUNCTION rowlock_lease_same_epoch FROM PUBLIC")
	found, d = w.doctor(t, u.String())
	assert.Equal(t, []string{durability, "problem privileges"}, found, d.text())
	assert.Contains(t, d.text(), "GRANT EXECUTE ON FUNCTION rowlock_lease_same_epoch TO "+role+";")
	do("GRANT EXECUTE ON FUNCTION rowlock_lease_same_epoch TO " + role)
	found, d = w.doctor(t, u.String())
	assert.Equal(t, []string{durability}, found, d.text())

	do("CREATE SCHEMA theirs AUTHORIZATION " + role)
	found, d = w.doctor(t, with(good, "search_path", "theirs,public"))
	assert.Equal(t, []string{durability}, found, "the owner of a schema may create in it: %s", d.text())
	do("CREATE SCHEMA \"Shared\"")
	do("GRANT CREATE ON SCHEMA \"Shared\" TO " + role)
	for _, store := range []string{good, advisoryOf(good)} {
		found, d = w.doctor(t, with(store, "search_path", `"Shared",public`))
		assert.Equal(t, []string{durability, "warning search path"}, found, d.text())
		assert.Contains(t, d.text(), role+" may create in the schema \"Shared\"")
		assert.Contains(t, d.text(), "REVOKE CREATE ON SCHEMA \"Shared\" FROM "+role)
		found, d = w.doctor(t, with(store, "search_path", `"Shared",public,pg_catalog`))
		assert.Equal(t, []string{durability, "problem search path"}, found, d.text())
	}
	found, d = w.doctor(t, with(u.String(), "search_path", `"Shared",public`))
	assert.Equal(t, []string{durability}, found, "it is the user's own schema: %s", d.text())
	do("GRANT CREATE ON SCHEMA public TO PUBLIC")
	found, d = w.doctor(t, u.String())
	assert.Equal(t, []string{durability, "warning search path"}, found, d.text())
	assert.Contains(t, d.text(), "every role may create in the schema public")
	assert.Contains(t, d.text(), "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
}

// doctor reports a pooler as a problem for session locks. For lease rows it reports a warning, because waiters behind a
// pooler are not notified.
func TestCompatDoctorFindsAPooler(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	w := newWorkplace(t)
	pooled, direct := testenv.PgBouncer(t)
	migrated(t, w, direct)
	// Runs doctor several times. Behind a pooler, a named prepared statement may fail only when it runs again.
	for range 3 {
		found, d := w.doctor(t, pooled)
		assert.Equal(t, []string{"problem durability", "warning pooler"}, found, d.text())
	}
	found, d := w.doctor(t, advisoryOf(pooled))
	assert.Equal(t, []string{"problem durability", "problem pooler"}, found, d.text())
	assert.Contains(t, d.text(), "name the server itself in --store")
}

// doctor finds each problem that the test creates on a MySQL or MariaDB server, and no other problem. On these servers
// the test can set a wrong clock for its own sessions.
func TestDoctorOnMySQL(t *testing.T) {
	t.Parallel()
	doctorOnMySQL(t, testenv.MySQL(t))
}

// TestCompatDoctorOnMariaDB shows the same on MariaDB.
func TestCompatDoctorOnMariaDB(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	doctorOnMySQL(t, testenv.MariaDB(t))
}

func doctorOnMySQL(t *testing.T, store string) {
	t.Helper()
	w := newWorkplace(t)
	const durability = "problem durability"
	only := func(want []string, store string) string {
		t.Helper()
		found, d := w.doctor(t, store)
		found = slices.DeleteFunc(found, func(f string) bool { return f == "warning durability" }) // this warning depends on whether the server has a binary log
		assert.Equal(t, want, found, d.text())
		return d.text()
	}
	assert.Contains(t, only([]string{durability, "problem schema"}, store), "innodb_flush_log_at_trx_commit=0")
	only([]string{durability, "problem schema"}, "mysql-getlock:"+store)
	migrated(t, w, store)
	only([]string{durability}, store)
	only([]string{durability}, "mysql-getlock:"+store)
	separator := "?"
	if strings.Contains(store, "?") {
		separator = "&"
	}
	assert.Contains(t, only([]string{durability, "warning clock"}, store+separator+"timestamp=1700000000"), "run NTP")

	db, err := sql.Open("mysql", store)
	require.NoError(t, err)
	defer db.Close()
	do := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	var database string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&database))
	user := "d" + strings.TrimPrefix(database, "rowlock_")
	do("CREATE USER " + user + "@'%' IDENTIFIED BY 's3cret-Of-doctor'")
	defer do("DROP USER " + user + "@'%'")
	do("GRANT SELECT, INSERT ON " + database + ".rowlock_lease TO " + user)
	_, at, found := strings.Cut(store, "@")
	require.True(t, found)
	lesser := user + ":s3cret-Of-doctor@" + at
	text := only([]string{durability, "problem privileges", "warning privileges"}, lesser)
	assert.Contains(t, text, "GRANT UPDATE ON rowlock_lease TO '"+user+"'@'%';")
	assert.NotContains(t, text, "INSERT ON rowlock_lease TO")
	do("ALTER TABLE rowlock_lease ENGINE = MyISAM")
	only([]string{durability, "problem engine"}, store)
}

// doctor finds the problems of a SQLite file, and does not change the file.
func TestDoctorOnSQLite(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "app.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE TABLE customer (id INTEGER)")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(w.dir, "app.db"), 0o600))
	found, d := w.doctor(t, "sqlite:app.db")
	assert.Equal(t, []string{"problem schema"}, found, d.text())
	migrated(t, w, "sqlite:app.db")
	found, d = w.doctor(t, "sqlite:app.db")
	assert.Empty(t, found, d.text())
	code, output := w.run(t, "migrate", "down", "--store", "sqlite:app.db")
	require.Zero(t, code, output)
	found, d = w.doctor(t, "sqlite:app.db")
	assert.Equal(t, []string{"problem schema"}, found, d.text())
	found, d = w.doctor(t, "sqlite:no/such/folder/locks.db")
	assert.Equal(t, []string{"problem file"}, found, d.text())

	migrated(t, w, "sqlite:own.db")
	code, output = w.run(t, "migrate", "down", "--store", "sqlite:own.db")
	require.Zero(t, code, output)
	before, err := os.ReadFile(filepath.Join(w.dir, "own.db"))
	require.NoError(t, err)
	found, d = w.doctor(t, "sqlite:own.db")
	assert.Equal(t, []string{"warning schema"}, found, d.text())
	after, err := os.ReadFile(filepath.Join(w.dir, "own.db"))
	require.NoError(t, err)
	assert.Equal(t, before, after, "it writes nothing")
	code, output = w.run(t, "migrate", "status", "--store", "sqlite:own.db")
	require.Zero(t, code, output)
	assert.Regexp(t, `00004_run.sql +-`, output, "it was not brought up to date")
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "no.db"), []byte("this is no database, and longer than a header of one is, so that it is read as such: 100 bytes"+strings.Repeat(".", 100)), 0o600))
	found, d = w.doctor(t, "sqlite:no.db")
	assert.Equal(t, []string{"problem connection"}, found, d.text())
}

// The command creates SQLite files that only its user can read and write. doctor warns of a file that other users can
// read or replace. A user that may only read a SQLite file can still lock the file, and so block every acquire.
func TestSQLiteFilesAreForTheirUserAlone(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	code, output := w.run(t, "run", "job", "--store", "sqlite:own.db", "--", "sh", "-c", "ls -l own.db*")
	require.Zero(t, code, output)
	assert.Equal(t, []string{"-rw-------", "-rw-------", "-rw-------"}, regexp.MustCompile(`(?m)^[-rwx]{10}`).FindAllString(output, -1), "the file, its log and the index of that: %s", output)
	found, d := w.doctor(t, "sqlite:own.db")
	assert.Empty(t, found, d.text())

	file := filepath.Join(w.dir, "own.db")
	require.NoError(t, os.Chmod(file, 0o644)) //nolint:gosec // doctor must find this permission
	found, d = w.doctor(t, "sqlite:own.db")
	assert.Equal(t, []string{"warning privileges"}, found, d.text())
	assert.Contains(t, d.text(), "chmod o-rwx own.db")
	require.NoError(t, os.Chmod(file, 0o660)) //nolint:gosec // a file that is shared with a group on purpose
	found, d = w.doctor(t, "sqlite:own.db")
	assert.Empty(t, found, d.text())

	require.NoError(t, os.Symlink("own.db", filepath.Join(w.dir, "link.db")))
	found, d = w.doctor(t, "sqlite:link.db")
	assert.Equal(t, []string{"warning privileges"}, found, d.text())
	assert.Contains(t, d.text(), "symbolic link")
	if os.Geteuid() == 0 { // only root can give a file to another user
		require.NoError(t, os.Chown(file, 4711, -1))
		found, d = w.doctor(t, "sqlite:own.db")
		assert.Equal(t, []string{"warning privileges"}, found, d.text())
		assert.Contains(t, d.text(), "belongs to user 4711")
	}
	require.NoError(t, os.Symlink("elsewhere.db", filepath.Join(w.dir, "dangling.db")))
	code, output = w.run(t, "run", "job", "--store", "sqlite:dangling.db", "--", "true")
	assert.Equal(t, 69, code, output)
	assert.Contains(t, output, "symbolic link to a file that does not exist")
	assert.NoFileExists(t, filepath.Join(w.dir, "elsewhere.db"))
}

// doctor finds a Redis that evicts keys, a Redis that rejects a command, and a Redis whose clock is an hour slow.
func TestDoctorOnRedis(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	testenv.DSN(t, testenv.EngineRedis)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := testserver.Start(ctx, testserver.Redis, testserver.Options{Clock: true, Durable: true})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	store := "redis://" + s.Addr
	require.NoError(t, s.SetClock(-time.Hour))
	found, d := w.doctor(t, store)
	assert.Equal(t, []string{"warning clock"}, found, d.text())
	assert.Regexp(t, `is (1h0m\d(\.\d*)?|59m5\d\.\d*)s behind this machine's`, d.text())
	require.NoError(t, s.SetClock(0))

	root := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer root.Close()
	require.NoError(t, root.ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err())
	found, d = w.doctor(t, store)
	assert.Equal(t, []string{"problem locks"}, found, d.text())
	assert.Contains(t, d.text(), "accept evictions with allow_eviction=true in --store")
	found, d = w.doctor(t, store+"?allow_eviction=true")
	assert.Equal(t, []string{"warning settings"}, found, d.text())
	require.NoError(t, root.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
	require.NoError(t, root.ConfigSet(ctx, "appendonly", "no").Err())
	found, d = w.doctor(t, store)
	assert.Equal(t, []string{"warning settings"}, found, d.text())
	assert.Contains(t, d.text(), "keeps no append-only file")
	require.NoError(t, root.ACLSetUser(ctx, "app", "on", ">s3cret", "~rowlock:*", "&rowlock:*", "+@connection", "+eval", "+evalsha", "+info", "+scan", "+hmget", "+del", "+time").Err())
	found, d = w.doctor(t, "redis://app:s3cret@"+s.Addr)
	assert.Contains(t, found, "problem privileges", d.text())
	assert.Contains(t, d.text(), "ACL SETUSER … +hset +pexpire +publish +subscribe +hdel")

	require.NoError(t, root.Do(ctx, "CLIENT", "NO-EVICT", "off").Err())
	found, d = w.doctor(t, "redlock://"+s.Addr+","+strings.Replace(s.Addr, "127.0.0.1", "localhost", 1)+",127.0.0.1:1")
	assert.Equal(t, []string{"problem node", "warning node"}, found, d.text())
	assert.Contains(t, d.text(), "are one server")
	require.NoError(t, root.ACLSetUser(ctx, "nodes", "on", ">s3cret", "~redlock:*", "&redlock:*", "+@all").Err())
	found, d = w.doctor(t, "redlock://nodes:s3cret@"+s.Addr+",127.0.0.1:1,127.0.0.1:2")
	assert.NotContains(t, found, "problem node", "it checks the keys of Redlock: %s", d.text())
	assert.NotContains(t, found, "problem privileges", d.text())
	keys, err := root.DBSize(ctx).Result()
	require.NoError(t, err)
	assert.Zero(t, keys, "it writes nothing")
}

// doctor finds an etcd without free space, and a user without write permission.
func TestDoctorOnEtcd(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	s := startServer(t, testserver.Etcd)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.DSN}, Logger: zap.NewNop()})
	require.NoError(t, err)
	defer client.Close()
	ctx := t.Context()
	alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, Alarm: etcdserverpb.AlarmType_NOSPACE}
	members, err := client.MemberList(ctx)
	require.NoError(t, err)
	alarm.MemberID = members.Members[0].ID
	_, err = etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, alarm)
	require.NoError(t, err)
	found, d := w.doctor(t, "etcd://"+s.Addr)
	assert.Equal(t, []string{"problem alarm"}, found, d.text())
	assert.Contains(t, d.text(), "etcdctl alarm disarm")
	_, err = client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(&etcdserverpb.AlarmMember{MemberID: alarm.MemberID, Alarm: alarm.Alarm}))
	require.NoError(t, err)

	must := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	must(client.UserAdd(ctx, "root", "r"))
	must(client.UserGrantRole(ctx, "root", "root"))
	must(client.RoleAdd(ctx, "locks"))
	must(client.RoleGrantPermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"), clientv3.PermissionType(clientv3.PermRead)))
	must(client.UserAdd(ctx, "app", "s3cret"))
	must(client.UserGrantRole(ctx, "app", "locks"))
	must(client.AuthEnable(ctx))
	found, d = w.doctor(t, "etcd://app:s3cret@"+s.Addr)
	assert.Contains(t, found, "problem privileges", d.text())
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{s.DSN}, Username: "root", Password: "r", Logger: zap.NewNop()})
	require.NoError(t, err)
	defer root.Close()
	must(root.RoleGrantPermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	found, d = w.doctor(t, "etcd://app:s3cret@"+s.Addr)
	assert.NotContains(t, d.text(), "problem", found)
	answer, err := root.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(t, err)
	assert.Zero(t, answer.Count, "it writes nothing")
}

// If a store does not answer, doctor exits with code 69 within its time limit, and prints no password. This test waits
// for the time limits of production. TestServerThatHangsIsUnavailable in internal/cli shortens them.
func TestCompatDoctorOfASilentServer(t *testing.T) {
	t.Parallel()
	address := silentServer(t)
	for _, store := range []string{"postgres://user:secret@" + address + "/db", "mysql://user:secret@" + address + "/db", "redis://user:secret@" + address} {
		t.Run(strings.SplitN(store, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			unavailable(t, newWorkplace(t), []string{"doctor", "--store", store})
		})
	}
}
