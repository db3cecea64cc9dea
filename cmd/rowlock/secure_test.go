//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// Every subcommand works over TLS with a private certificate authority and a password. If the certificate or the
// password is wrong, the error says so, and contains no password. The exit code then says that the store is
// unavailable, and not that the lock is held.
func TestSecuredStores(t *testing.T) {
	t.Parallel()
	secured(t, "rediss", certificate(t), certificate(t))
}

// TestCompatSecuredStores shows the same on other kinds of store.
func TestCompatSecuredStores(t *testing.T) {
	t.Parallel()
	ours, stranger := certificate(t), certificate(t) // in the folder of this test, because the name of a subtest may have a +
	for scheme := range securedServers {
		if scheme == "rediss" {
			continue
		}
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			secured(t, scheme, ours, stranger)
		})
	}
}

// securedServers maps each scheme to a function that starts servers with TLS, and returns the part of the store's address
// after the account.
var securedServers = map[string]func(testing.TB, pair) string{
	"rediss":         func(tb testing.TB, p pair) string { return securedRedis(tb, p) + "/?prefix=secured:&" },
	"rediss+cluster": securedRedisCluster,
	"redlocks":       securedRedlock,
	"etcds":          securedEtcd,
	"zks":            securedZooKeeper,
}

func secured(t *testing.T, scheme string, ours, stranger pair) {
	t.Helper()
	w := newWorkplace(t)
	store := scheme + "://" + account + securedServers[scheme](t, ours)
	mine := "cert=" + ours.cert + "&key=" + ours.key
	good := store + "ca=" + ours.cert + "&" + mine
	code, output := w.run(t, "run", "job", "--store", good, "--", "env", "-u", "ROWLOCK_LOCKS", "rowlock", "run", "job", "--store", good, "--", "touch", "never")
	require.Equal(t, 75, code, output)
	code, output = w.call(t, "status", "job", "--store", good)
	require.Zero(t, code, output)
	for what, bad := range map[string]struct {
		store string
		code  int
		said  string
	}{
		"unknown authority":           {store + mine, 69, "certificate"},
		"its name given":              {good + "&server_name=127.0.0.1", 0, ""},
		"other name":                  {good + "&server_name=db.example.com", 69, "db.example.com"},
		"wrong CA":                    {store + mine + "&ca=" + stranger.cert, 69, "certificate"},
		"wrong password":              {strings.Replace(good, "ss@", "ss-not@", 1), 69, "auth|password"},
		"no TLS":                      {strings.Replace(strings.TrimRight(store, "?&"), "s:", ":", 1), 69, ""},
		"no certificate of one's own": {store + "ca=" + ours.cert, 69, ""},
		"another's certificate":       {store + "ca=" + ours.cert + "&cert=" + stranger.cert + "&key=" + stranger.key, 69, ""},
		"no file":                     {store + "ca=no-such-file", 64, "ca: open no-such-file"},
		"no certificate":              {store + "ca=" + ours.key, 64, "no certificate in PEM form"},
		"half a pair":                 {store + "cert=" + ours.cert, 64, "cert and key belong together"},
		"not a pair":                  {store + "cert=" + ours.cert + "&key=" + stranger.key, 64, "private key does not match"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			code, output := w.call(t, "ls", "--store", bad.store)
			require.Equal(t, bad.code, code, output)
			require.Regexp(t, bad.said, output)
			require.NotContains(t, output, "s3cr3t")
		})
	}
	require.NoFileExists(t, filepath.Join(w.dir, "never"))
}

// doctor reports whether a connection is encrypted, and with which protocol.
func TestDoctorSeesTheEncryption(t *testing.T) {
	t.Parallel()
	w, p := newWorkplace(t), certificate(t)
	store := migrated(t, w, securedPostgres(t, p)+"?sslmode=verify-full&sslrootcert="+p.cert)
	_, d := w.doctor(t, store)
	require.Contains(t, d.text(), "ok encryption: the connection is encrypted: TLSv1.3")
}
