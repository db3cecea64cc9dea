//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

const secret = "s3cr3t/p?ss"

// account is the user and the password on the secured servers, escaped for a store's address.
const account = "app:s3cr3t%2Fp%3Fss@"

// Every subcommand works over TLS with a private certificate authority and a password. If the certificate or the
// password is wrong, the error says so, and contains no password. The exit code then says that the store is
// unavailable, and not that the lock is held.
func TestSecuredStores(t *testing.T) {
	t.Parallel()
	ours, stranger := certificate(t), certificate(t)
	for scheme, start := range map[string]func(testing.TB, pair) string{
		"rediss":         func(tb testing.TB, p pair) string { return securedRedis(tb, p) + "/?prefix=secured:&" },
		"rediss+cluster": securedRedisCluster,
		"redlocks":       securedRedlock,
		"etcds":          securedEtcd,
		"zks":            securedZooKeeper,
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t)
			store := scheme + "://" + account + start(t, ours)
			mine := "cert=" + ours.cert + "&key=" + ours.key
			good := store + "ca=" + ours.cert + "&" + mine
			code, output := w.run(t, "run", "job", "--store", good, "--", "env", "-u", "ROWLOCK_LOCKS", "rowlock", "run", "job", "--store", good, "--", "touch", "never")
			require.Equal(t, 75, code, output)
			code, output = w.run(t, "status", "job", "--store", good)
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
					code, output := w.run(t, "ls", "--store", bad.store)
					require.Equal(t, bad.code, code, output)
					require.Regexp(t, bad.said, output)
					require.NotContains(t, output, "s3cr3t")
				})
			}
			require.NoFileExists(t, filepath.Join(w.dir, "never"))
		})
	}
}

// securedRedis returns the address of a Redis server with TLS that requires a password and a client certificate.
// The account has only the documented permissions.
func securedRedis(tb testing.TB, p pair, args ...string) string {
	tb.Helper()
	port := freePort(tb)
	plain := startServer(tb, testserver.Redis, append([]string{
		"--tls-port", port, "--tls-cert-file", p.cert, "--tls-key-file", p.key, "--tls-ca-cert-file", p.cert,
	}, args...)...).Addr
	if len(args) > 0 {
		wholeCluster(tb, plain)
	}
	root := redis.NewClient(&redis.Options{Addr: plain})
	defer root.Close()
	giveVote(tb, root, "secured") // otherwise the new servers of a redlock store would grant no locks at first
	require.NoError(tb, root.ACLSetUser(tb.Context(), "app", "on", ">"+secret, "~secured*", "&secured*",
		"+eval", "+evalsha", "+info", "+scan", "+subscribe", "+ssubscribe", "+publish", "+time", "+cluster|shards", "+cluster|slots",
		"+hget", "+hmget", "+hset", "+del", "+pexpire").Err())
	return "127.0.0.1:" + port
}

func freePort(tb testing.TB) string {
	tb.Helper()
	port, release, err := testserver.FreePort()
	require.NoError(tb, err)
	tb.Cleanup(release)
	return strconv.Itoa(port)
}

func securedRedisCluster(tb testing.TB, p pair) string {
	tb.Helper()
	args := []string{"--cluster-enabled", "yes", "--tls-cluster", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-port", freePort(tb)}
	return securedRedis(tb, p, args...) + "/?prefix=secured:&"
}

func securedRedlock(tb testing.TB, p pair) string {
	tb.Helper()
	return securedRedis(tb, p) + "," + securedRedis(tb, p) + "," + securedRedis(tb, p) + "?node_timeout=5s&prefix=secured:&"
}

// securedEtcd returns the address of an etcd server with TLS that requires a password and a client certificate.
func securedEtcd(tb testing.TB, p pair) string {
	tb.Helper()
	testenv.DSN(tb, testenv.EngineEtcd)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := testserver.Start(ctx, testserver.Etcd, testserver.Options{
		CertFile: p.cert, KeyFile: p.key, Args: []string{"--client-cert-auth", "--trusted-ca-file=" + p.cert},
	})
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	own, err := tls.LoadX509KeyPair(p.cert, p.key)
	require.NoError(tb, err)
	secure := &tls.Config{RootCAs: p.trust.RootCAs, Certificates: []tls.Certificate{own}}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.DSN}, TLS: secure, Logger: zap.NewNop()})
	require.NoError(tb, err)
	defer client.Close()
	must := func(_ any, err error) { require.NoError(tb, err) }
	must(client.UserAdd(ctx, "root", "r"))
	must(client.UserGrantRole(ctx, "root", "root"))
	must(client.RoleAdd(ctx, "locks"))
	must(client.RoleGrantPermission(ctx, "locks", "secured/", clientv3.GetPrefixRangeEnd("secured/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(client.UserAdd(ctx, "app", secret))
	must(client.UserGrantRole(ctx, "app", "locks"))
	must(client.AuthEnable(ctx))
	return s.Addr + "/?prefix=secured&"
}

// securedZooKeeper returns the address of a TLS proxy in front of a ZooKeeper server without TLS, because the server's
// own TLS needs another Java library.
func securedZooKeeper(tb testing.TB, p pair) string {
	tb.Helper()
	u, err := url.Parse(zookeeperStore(tb, newWorkplace(tb)))
	require.NoError(tb, err)
	own, err := tls.LoadX509KeyPair(p.cert, p.key)
	require.NoError(tb, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: p.trust.RootCAs,
	})
	require.NoError(tb, err)
	return newCableBehind(tb, listener, u.Host, nil).address + u.Path + "?"
}

// pair contains the paths of a self-signed certificate for this machine, and of the certificate's private key.
type pair struct {
	cert, key string // the paths of the PEM files
	trust     *tls.Config
}

func certificate(tb testing.TB) pair {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(tb, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(tb, err)
	dir, trust := tb.TempDir(), x509.NewCertPool()
	write := func(name, kind string, content []byte) string {
		path, text := filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		require.NoError(tb, os.WriteFile(path, text, 0o600))
		trust.AppendCertsFromPEM(text)
		return path
	}
	return pair{write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", private), &tls.Config{RootCAs: trust}}
}

// doctor reports whether a connection is encrypted, and with which protocol.
func TestDoctorSeesTheEncryption(t *testing.T) {
	t.Parallel()
	w, p := newWorkplace(t), certificate(t)
	store := migrated(t, w, securedPostgres(t, p)+"?sslmode=verify-full&sslrootcert="+p.cert)
	_, d := w.doctor(t, store)
	require.Contains(t, d.text(), "ok encryption: the connection is encrypted: TLSv1.3")
}
