package etcdlock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// secured is a server with TLS and two users: "app" has the role that the package comment recommends, and "stranger"
// has no rights.
type secured struct {
	*testserver.Server
	trust  *tls.Config
	folder string // of the certificate, which the server reads again for each connection
}

func (s *secured) Stop() {
	s.Server.Stop()
	_ = os.RemoveAll(s.folder)
}

// newSecured returns a secured server that no other test uses at the same time. The test may change the rights of the
// role "locks".
func newSecured(t *testing.T) *secured {
	t.Helper()
	server(t) // skips the test if the launcher could not start a server
	return borrow(t, &idle.secured, func() *secured { return startSecured(t) }, func(s *secured) error {
		c := config(s.DSN)
		c.TLS, c.Username, c.Password = s.trust, "root", "r"
		return errors.Join(empty(t.Context(), c, s.DSN), allow(c))
	})
}

// allow gives the role "locks" the rights that the package comment recommends.
func allow(c clientv3.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := clientv3.New(c)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.RoleGrantPermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"), clientv3.PermissionType(clientv3.PermReadWrite))
	return err
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	folder, err := os.MkdirTemp("", "rowlock-etcd-")
	require.NoError(t, err)
	certFile, keyFile, trust := certificate(t, folder)
	started, err := testserver.Start(t.Context(), testserver.Etcd, testserver.Options{
		CertFile: certFile, KeyFile: keyFile, Args: []string{"--bcrypt-cost=4"},
	})
	require.NoError(t, err)
	s := &secured{started, trust, folder}
	root, ctx := s.as(t, "", ""), t.Context()
	must := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	must(root.UserAdd(ctx, "root", "r"))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.RoleAdd(ctx, "locks"))
	unsecured := config(s.DSN)
	unsecured.TLS = trust
	require.NoError(t, allow(unsecured))
	for _, name := range []string{"app", "stranger"} {
		must(root.UserAdd(ctx, name, "p"))
	}
	must(root.UserGrantRole(ctx, "app", "locks"))
	must(root.AuthEnable(ctx))
	return s
}

// as returns a client that authenticates with user and password.
func (s *secured) as(t *testing.T, user, password string) *clientv3.Client {
	t.Helper()
	c := config(s.DSN)
	c.TLS, c.Username, c.Password = s.trust, user, password
	client, err := clientv3.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// certificate makes a self-signed certificate for this machine, in a folder.
func certificate(t *testing.T, folder string) (certFile, keyFile string, trust *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // ClientAuth: etcd's gateway connects to its own server as a client
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return path
	}
	certFile, keyFile = write("cert", "CERTIFICATE", cert), write("key", "PRIVATE KEY", private)
	trust = &tls.Config{RootCAs: x509.NewCertPool()}
	parsed, err := x509.ParseCertificate(cert)
	require.NoError(t, err)
	trust.RootCAs.AddCert(parsed)
	return certFile, keyFile, trust
}

// cluster starts a cluster of three nodes that only one test uses. That test may kill and suspend nodes.
func cluster(tb testing.TB) *testserver.EtcdCluster {
	tb.Helper()
	return clusterOf(tb, "")
}

// clusters limits how many clusters run at a time, because on a small machine more clusters would be so slow that tests
// fail.
var clusters = make(chan struct{}, 3)

// clusterOf starts a cluster of the given version of etcd.
func clusterOf(tb testing.TB, version string) *testserver.EtcdCluster {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	clusters <- struct{}{}
	tb.Cleanup(func() { <-clusters })
	c, err := testserver.StartEtcdCluster(tb.Context(), 3, testserver.Options{Version: version, Logf: tb.Logf})
	require.NoError(tb, err)
	tb.Cleanup(c.Stop)
	return c
}

func endpoints(c *testserver.EtcdCluster) (all []string) {
	for _, n := range c.Nodes {
		all = append(all, n.DSN)
	}
	return all
}

func leader(t *testing.T, c *testserver.EtcdCluster) (found *testserver.EtcdNode) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, n := range c.Nodes {
			if leads, err := n.Leads(t.Context()); err == nil && leads {
				found = n
			}
		}
		return found != nil
	}, 30*time.Second, 20*time.Millisecond)
	return found
}

func lockerOn(tb testing.TB, b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	tb.Helper()
	l, err := rowlock.New(b, opts...)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// requireOver waits until the context of a session has ended. It fails the test after 30 seconds.
func requireOver(t *testing.T, session context.Context, why string) { //nolint:revive // the context is what is tested
	t.Helper()
	select {
	case <-session.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the lease is still trusted, although " + why)
	}
}

func request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 20 * time.Second, Holder: "test"}
}

// reading returns a request for a share.
func reading(name string) driver.Request {
	r := request(name)
	r.Shared = true
	return r
}

// aloneWith starts a server that only one test uses, and that this test may change.
func aloneWith(tb testing.TB, o testserver.Options) *testserver.Server {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	o.Logf = tb.Logf
	s, err := testserver.Start(tb.Context(), testserver.Etcd, o)
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// metric returns one of the server's metrics.
func metric(tb testing.TB, dsn, pattern string) int {
	tb.Helper()
	n, err := readMetric(dsn, pattern)
	require.NoError(tb, err)
	return n
}

func readMetric(dsn, pattern string) (int, error) {
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	reply, err := client.Get(dsn + "/metrics") //nolint:noctx // a test
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + pattern + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%s has no metric %s", dsn, pattern)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	return int(n), err
}

const (
	txns    = `grpc_server_handled_total\{grpc_code="OK",grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"\}`
	watches = `etcd_debugging_mvcc_watcher_total`
	commits = `etcd_server_proposals_committed_total`
	leads   = `etcd_server_has_leader`
)

// watchedBy calls the function begin, which starts a waiter, and returns the node that serves the waiter's watch.
// Before that, it waits until the holder's watch exists.
func watchedBy(t *testing.T, c *testserver.EtcdCluster, begin func()) (found *testserver.EtcdNode) {
	t.Helper()
	before := map[*testserver.EtcdNode]int{}
	require.Eventually(t, func() bool {
		sum := 0
		for _, n := range c.Nodes {
			before[n] = metric(t, n.DSN, watches)
			sum += before[n]
		}
		return sum == 1
	}, 20*time.Second, 10*time.Millisecond)
	begin()
	require.Eventually(t, func() bool {
		for _, n := range c.Nodes {
			if metric(t, n.DSN, watches) > before[n] {
				found = n
			}
		}
		return found != nil
	}, 20*time.Second, 10*time.Millisecond)
	return found
}

// others returns the endpoints of all nodes except one, the parameter except.
func others(c *testserver.EtcdCluster, except *testserver.EtcdNode) (all []string) {
	for _, n := range c.Nodes {
		if n != except {
			all = append(all, n.DSN)
		}
	}
	return all
}

// entries returns how many entries the queue of key has, including the holder's.
func entries(tb testing.TB, n *network, key driver.Key) int {
	tb.Helper()
	reply, err := n.direct.Get(tb.Context(), n.watching.Queue(key), clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(tb, err)
	return int(reply.Count)
}

// queued starts a waiter, and returns when its entry is in the queue. The channel receives the waiter's error or nil.
func queued(t *testing.T, n *network, b *etcdlock.Backend, ctx context.Context, r driver.Request) <-chan error { //nolint:revive // ctx is what the test is about
	t.Helper()
	granted, done := queuedGrant(t, n, b, ctx, r), make(chan error, 1)
	go func() { done <- (<-granted).err }()
	return done
}

type result struct {
	driver.Grant
	err error
}

// queuedGrant does the same as queued, but its channel also receives the grant.
func queuedGrant(t *testing.T, n *network, b *etcdlock.Backend, ctx context.Context, r driver.Request) <-chan result { //nolint:revive // ctx is what the test is about
	t.Helper()
	before := entries(t, n, r.Key)
	done := make(chan result, 1)
	go func() {
		g, err := inQueue(b, ctx, r)
		done <- result{g, err}
	}()
	require.Eventually(t, func() bool { return entries(t, n, r.Key) > before }, 30*time.Second, time.Millisecond)
	return done
}

// stop blocks the callers of its method hold until the test closes the channel goOn.
type stop struct {
	once          sync.Once
	reached, goOn chan struct{}
}

func newStop() *stop { return &stop{reached: make(chan struct{}), goOn: make(chan struct{})} }

func (s *stop) hold(ctx context.Context) {
	s.once.Do(func() { close(s.reached) })
	select {
	case <-s.goOn:
	case <-ctx.Done():
	}
}

// before is a context that blocks a request before it is sent. It blocks in Value, which the client calls first.
type before struct {
	context.Context

	stop *stop
}

func (b before) Value(key any) any {
	b.stop.hold(b.Context)
	return b.Context.Value(key)
}
