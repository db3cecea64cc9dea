package etcdlock_test

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
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	trust *tls.Config
}

func newSecured(t *testing.T) *secured {
	t.Helper()
	certFile, keyFile, trust := certificate(t)
	s := &secured{aloneWith(t, testserver.Options{CertFile: certFile, KeyFile: keyFile, Args: []string{"--bcrypt-cost=4"}}), trust}
	root, ctx := s.as(t, "", ""), t.Context()
	must := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	must(root.UserAdd(ctx, "root", "r"))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.RoleAdd(ctx, "locks"))
	must(root.RoleGrantPermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"), clientv3.PermissionType(clientv3.PermReadWrite)))
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

// A user who may only read and write below the prefix can use all functions of a backend. A user without that right
// immediately gets an error about the missing right, not a timeout. The connections use TLS.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	s, ctx := newSecured(t), t.Context()
	client := s.as(t, "app", "p")
	b := etcdlock.New(client)
	lease, err := lockerOn(t, b).Acquire(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, lease.Renew(ctx))
	waits := make(chan error, 1)
	go func() {
		next, err := lockerOn(t, etcdlock.New(client)).Acquire(ctx, "a")
		if err == nil {
			err = next.Release(context.Background())
		}
		waits <- err
	}()
	require.Eventually(t, func() bool {
		reply, err := client.Get(ctx, b.Queue(driver.Key{Name: "a"}), clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && reply.Count == 2
	}, 30*time.Second, 5*time.Millisecond)
	list, err := b.List(ctx, "", true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Positive(t, list[0].ExpiresIn)
	require.NoError(t, b.ForceRelease(ctx, driver.Key{Name: "a"}, lease.Token(), true))
	require.NoError(t, <-waits)
	require.ErrorIs(t, lease.Release(ctx), rowlock.ErrLost)
	reader, err := lockerOn(t, b).Acquire(ctx, "b", rowlock.Shared())
	require.NoError(t, err)
	require.NoError(t, reader.Release(ctx))
	_, err = client.Put(ctx, "elsewhere", "x")
	require.Error(t, err)

	_, err = etcdlock.New(s.as(t, "stranger", "p")).Acquire(ctx, request("a"))
	require.True(t, driver.IsPermanent(err), "%v", err)
	_, err = lockerOn(t, etcdlock.New(s.as(t, "stranger", "p"))).Acquire(ctx, "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.NotErrorIs(t, err, rowlock.ErrHeld)
}

// Renewals do not authenticate, because each authentication costs a password hash and a commit.
func TestRenewalsDoNotAuthenticate(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	b := etcdlock.New(s.as(t, "app", "p"))
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	before := metric(t, s.DSN, commits)
	for range 50 {
		outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	}
	assert.InDelta(t, 0, metric(t, s.DSN, commits)-before, 3)
}

// If the client does not trust the server's certificate, TryAcquire fails with ErrUnavailable, and not with ErrHeld.
func TestAnUntrustedServerIsUnavailable(t *testing.T) {
	t.Parallel()
	certFile, keyFile, _ := certificate(t)
	s := &secured{aloneWith(t, testserver.Options{CertFile: certFile, KeyFile: keyFile}), new(tls.Config)}
	_, err := lockerOn(t, etcdlock.New(s.as(t, "", "")), rowlock.TTL(time.Second)).TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.NotErrorIs(t, err, rowlock.ErrHeld)
}

// certificate makes a self-signed certificate for this machine.
func certificate(t *testing.T) (certFile, keyFile string, trust *tls.Config) {
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
		path := filepath.Join(t.TempDir(), name)
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
