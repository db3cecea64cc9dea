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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// prefix returns the option for a key prefix that only one test uses, because all tests share the servers.
func prefix() string { return "?prefix=test-" + driver.NewNonce().String() }

func redisStore(tb testing.TB, _ workplace) string {
	tb.Helper()
	url, prefix := testenv.Redis(tb)
	return url + "?prefix=" + prefix
}

func etcdStore(tb testing.TB, _ workplace) string {
	tb.Helper()
	return strings.Replace(testenv.DSN(tb, testenv.EngineEtcd), "http://", "etcd://", 1) + "/" + prefix()
}

// redisCluster returns a function that returns the address of a Redis Cluster with three primaries.
// The first call of that function starts the servers, and all subtests of tb share them.
func redisCluster(tb testing.TB) func(testing.TB, workplace) string {
	tb.Helper()
	servers := sync.OnceValue(func() string {
		addrs := make([]string, 3)
		nodes := make([]*redis.Client, 3)
		for i := range addrs {
			addrs[i] = startServer(tb, testserver.Redis, "--cluster-enabled", "yes").Addr
			nodes[i] = redis.NewClient(&redis.Options{Addr: addrs[i]})
			defer nodes[i].Close()
			require.NoError(tb, nodes[i].ClusterAddSlotsRange(tb.Context(), i*16384/3, (i+1)*16384/3-1).Err())
			require.NoError(tb, nodes[i].Do(tb.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		}
		for _, addr := range addrs[1:] {
			host, port, err := net.SplitHostPort(addr)
			require.NoError(tb, err)
			require.NoError(tb, nodes[0].ClusterMeet(tb.Context(), host, port).Err())
		}
		for _, node := range nodes {
			require.Eventually(tb, func() bool {
				facts, err := node.ClusterInfo(tb.Context()).Result()
				known, err2 := node.ClusterShards(tb.Context()).Result()
				return err == nil && err2 == nil && len(known) == 3 && strings.HasPrefix(facts, "cluster_state:ok")
			}, 30*time.Second, 20*time.Millisecond)
		}
		return strings.Join(addrs[1:], ",") // the address of the third server is omitted, because the client discovers that server
	})
	return func(tb testing.TB, _ workplace) string {
		testenv.DSN(tb, testenv.EngineRedis) // skips only this test on a machine without Redis
		return "redis+cluster://" + servers() + prefix() + ":"
	}
}

// wholeCluster assigns all hash slots to one server, and waits until the server works as a Redis Cluster.
func wholeCluster(tb testing.TB, addr string) {
	tb.Helper()
	node := redis.NewClient(&redis.Options{Addr: addr})
	defer node.Close()
	require.NoError(tb, node.ClusterAddSlotsRange(tb.Context(), 0, 16383).Err())
	require.Eventually(tb, func() bool {
		facts, err := node.ClusterInfo(tb.Context()).Result()
		return err == nil && strings.HasPrefix(facts, "cluster_state:ok")
	}, 30*time.Second, 20*time.Millisecond)
}

var zookeeperBegan sync.Once

// zookeeperStore returns the address of a ZooKeeper store. The first call also acquires a lock once. During this
// acquire a new server loads Java classes, which may take long on a busy machine.
func zookeeperStore(tb testing.TB, w workplace) string {
	tb.Helper()
	addr := testenv.DSN(tb, testenv.EngineZooKeeper)
	zookeeperBegan.Do(func() {
		for end := time.Now().Add(time.Minute); ; {
			code, output := w.run(tb, "run", "warm-up", "--store", "zk://"+addr+"/warm-up", "--", "true")
			if code == 0 {
				return
			}
			require.Equal(tb, 69, code, output)
			require.True(tb, time.Now().Before(end), output)
		}
	})
	return "zk://" + addr + "/test-" + driver.NewNonce().String()
}

// redlockStore returns a function that returns the address of a Redlock store of three servers. The first call of that
// function starts the servers, and all subtests of tb share them. Each server grants locks at once, as if it had been
// running for a long time. The time limits are long, because servers on this machine may be slow.
func redlockStore(tb testing.TB) func(testing.TB, workplace) string {
	tb.Helper()
	servers := sync.OnceValue(func() (addrs []string) {
		for range 3 {
			addrs = append(addrs, startServer(tb, testserver.Redis).Addr)
		}
		return addrs
	})
	return func(tb testing.TB, _ workplace) string {
		testenv.DSN(tb, testenv.EngineRedis)
		prefix := driver.NewNonce().String() + ":"
		for _, addr := range servers() {
			node := redis.NewClient(&redis.Options{Addr: addr})
			defer node.Close()
			giveVote(tb, node, prefix)
		}
		return "redlock://" + strings.Join(servers(), ",") + "?node_timeout=5s&prefix=" + prefix
	}
}

// giveVote lets a new server of a Redlock store grant locks at once. Otherwise a new server grants nothing at first,
// because it may have lost its data.
func giveVote(tb testing.TB, node *redis.Client, prefix string) {
	tb.Helper()
	run := node.InfoMap(tb.Context(), "server").Item("Server", "run_id")
	require.NoError(tb, node.HSet(tb.Context(), prefix+"node", "run_id", run, "since", 0, "admitted", 1, "top", 0, "floor", 0).Err())
}

// startServer starts a server that only one test uses, so the test may kill the server.
func startServer(tb testing.TB, engine string, args ...string) *testserver.Server {
	tb.Helper()
	testenv.DSN(tb, engine) // skips the test on a machine that cannot start a server
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := testserver.Start(ctx, engine, testserver.Options{Args: args})
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// cable is a network connection to a server that a test can cut. After the cut no bytes arrive, and neither side gets
// an error.
type cable struct {
	address string
	cut     atomic.Bool
	breaks  func(request []byte) bool // reports whether the cable breaks at this request; the request is still delivered, but gets no answer
	broken  atomic.Bool               // if true, all bytes sent from now on are lost
}

func newCable(tb testing.TB, server string, breaks func([]byte) bool) *cable {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	return newCableBehind(tb, listener, server, breaks)
}

func newCableBehind(tb testing.TB, listener net.Listener, server string, breaks func([]byte) bool) *cable {
	tb.Helper()
	c := &cable{address: listener.Addr().String(), breaks: breaks}
	var running sync.WaitGroup
	var mu sync.Mutex
	var ends []net.Conn
	keep := func(conn net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		ends = append(ends, conn)
	}
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			keep(near)
			if c.broken.Load() {
				_ = near.Close()
			}
			if c.cut.Load() {
				continue
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				continue
			}
			keep(far)
			running.Go(func() { c.carry(near, far, c.breaks) })
			running.Go(func() { c.carry(far, near, nil) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, end := range ends {
			_ = end.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return c
}

func (c *cable) carry(from, to net.Conn, breaks func([]byte) bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if c.broken.Load() {
			_ = to.Close()
			_ = from.Close()
			return
		}
		if breaks != nil && breaks(buffer[:n]) {
			c.broken.Store(true)
		}
		if !c.cut.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
}

// silentServer returns the address of a server that accepts connections and never replies. The server closes when the
// test ends.
func silentServer(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	var mu sync.Mutex
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return listener.Addr().String()
}

const secret = "s3cr3t/p?ss"

// account is the user and the password on the secured servers, escaped for a store's address.
const account = "app:s3cr3t%2Fp%3Fss@"

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

// securedPostgres returns the store address of a Postgres server that has a certificate and rejects clients without
// TLS.
func securedPostgres(tb testing.TB, p pair) string {
	tb.Helper()
	testenv.DSN(tb, testenv.EnginePostgres)
	s := startServer(tb, testserver.Postgres)
	var owner syscall.Stat_t
	require.NoError(tb, syscall.Stat(filepath.Join(s.Folder, "data", "PG_VERSION"), &owner))
	for name, from := range map[string]string{"server.crt": p.cert, "server.key": p.key} {
		text, err := os.ReadFile(from)
		require.NoError(tb, err)
		to := filepath.Join(s.Folder, "data", name)
		require.NoError(tb, os.WriteFile(to, text, 0o600))
		require.NoError(tb, os.Chown(to, int(owner.Uid), int(owner.Gid)))
	}
	require.NoError(tb, os.WriteFile(filepath.Join(s.Folder, "data", "pg_hba.conf"), []byte("hostssl all all all trust\n"), 0o600))
	conn, err := pgx.Connect(tb.Context(), s.DSN)
	require.NoError(tb, err)
	defer conn.Close(context.Background())
	for _, statement := range []string{"ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"} {
		_, err := conn.Exec(tb.Context(), statement)
		require.NoError(tb, err)
	}
	require.Eventually(tb, func() bool {
		plain, err := pgx.Connect(tb.Context(), s.DSN)
		if err == nil {
			_ = plain.Close(context.Background())
		}
		return err != nil
	}, 30*time.Second, 20*time.Millisecond, "it accepts clients without TLS")
	return "postgres://postgres@" + s.Addr + "/postgres"
}
