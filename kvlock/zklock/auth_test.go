package zklock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// A user with rights only below a root that an administrator created can use all functions of a backend, also after its
// connection broke. A user without rights immediately gets an error about the missing rights, not a timeout. Other
// users do not see who holds a lock.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	admin := n.direct
	require.NoError(t, admin.AddAuth("digest", []byte("admin:a")))
	home := "/home-" + driver.NewNonce().String()
	const rights = zk.PermRead | zk.PermWrite | zk.PermCreate | zk.PermDelete
	_, err := admin.Create(home, nil, zk.FlagPersistent, append(zk.DigestACL(rights, "app", "p"), zk.DigestACL(zk.PermAll, "admin", "a")...))
	require.NoError(t, err)

	app, err := n.open(zklock.Root(home+"/rowlock"), zklock.Digest("app", "p"))
	require.NoError(t, err)
	lease, err := lockerOn(t, app).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, lease.Renew(t.Context()))
	require.NoError(t, n.DropReply(app))
	require.Eventually(t, func() bool { return lease.Renew(t.Context()) == nil }, 30*time.Second, 10*time.Millisecond, "on a new connection")
	waits := make(chan error, 1)
	other := open(t, n.servers, zklock.Root(home+"/rowlock"), zklock.Digest("app", "p"))
	go func() {
		next, err := lockerOn(t, other).Acquire(t.Context(), "a")
		if err == nil {
			err = next.Release(context.Background())
		}
		waits <- err
	}()
	require.Eventually(t, func() bool {
		children, _, err := admin.Children(app.Container(driver.Key{Name: "a"}))
		return errors.Is(err, zk.ErrNoAuth) || len(children) == 2
	}, 30*time.Second, 5*time.Millisecond)
	_, _, err = admin.Children(app.Container(driver.Key{Name: "a"}))
	require.ErrorIs(t, err, zk.ErrNoAuth, "created nodes are only for clients with the same credentials")
	list, err := app.List(t.Context(), "", true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, app.ForceRelease(t.Context(), driver.Key{Name: "a"}, lease.Token(), true))
	require.NoError(t, <-waits)
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)

	for _, stranger := range []*zklock.Backend{
		open(t, n.servers, zklock.Root(home+"/rowlock")),
		open(t, n.servers, zklock.Root(home+"/rowlock"), zklock.Digest("app", "wrong")),
	} {
		_, err = stranger.Acquire(t.Context(), request("a"))
		require.True(t, driver.IsPermanent(err), "%v", err)
		_, err = lockerOn(t, stranger).Acquire(t.Context(), "b")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		require.False(t, errors.Is(err, rowlock.ErrHeld))
	}
}

// Without authentication, any client can end every lock, and the backend warns of that. With authentication, or with an
// ACL that lets other clients only read, no other client can end a lock, and there is no warning.
func TestNodesAreOpenWithoutAuthentication(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	acl := zklock.ACL(append(zk.DigestACL(zk.PermAll, "app", "p"), zk.WorldACL(zk.PermRead)...)...)
	for name, c := range map[string]struct {
		opts []zklock.Option
		open bool
	}{
		"open":   {nil, true},
		"digest": {[]zklock.Option{zklock.Digest("app", "p")}, false},
		"acl":    {[]zklock.Option{zklock.Digest("app", "p"), acl}, false},
	} {
		where := "/test-" + driver.NewNonce().String()
		b := open(t, n.servers, append(c.opts, zklock.Root(where))...)
		g, err := b.Acquire(t.Context(), request(name))
		require.NoError(t, err)
		assert.Equal(t, c.open, len(b.Capabilities().Warnings) > 0, name)
		stranger := open(t, n.servers, zklock.Root(where))
		err = stranger.ForceRelease(t.Context(), g.Key, g.Token, true)
		if c.open {
			require.NoError(t, err, name)
			continue
		}
		require.True(t, driver.IsPermanent(err) || errors.Is(err, zk.ErrNoAuth), "%s: %v", name, err)
		require.NoError(t, b.Release(t.Context(), g), name)
	}
}

// If the servers do not know the authentication scheme, an acquire fails at once with an error that says so.
func TestUnknownAuthentication(t *testing.T) {
	t.Parallel()
	b := open(t, []string{server(t)}, zklock.Auth("unknown", nil))
	_, err := lockerOn(t, b).TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.ErrorContains(t, err, "authentication failed")
}

// With a TLS dialer all traffic uses TLS. If the client does not trust the server's certificate, an acquire fails.
func TestTLS(t *testing.T) {
	t.Parallel()
	address, pool := terminator(t, server(t))
	dial := func(roots *x509.CertPool) zklock.Option {
		d := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "zookeeper.test"}}
		return zklock.Dialer(d.DialContext)
	}
	lease, err := lockerOn(t, open(t, []string{address}, root(), dial(pool))).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, lease.Renew(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
	_, err = lockerOn(t, open(t, []string{address}, root(), dial(x509.NewCertPool())), rowlock.TTL(12*time.Second)).TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.ErrorContains(t, err, "certificate")
}

// terminator starts a TLS proxy in front of a server. It returns the proxy's address, and the certificates that clients
// must trust.
func terminator(t *testing.T, server string) (string, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zookeeper.test"}, DNSNames: []string{"zookeeper.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go passOn(conn, server)
		}
	}()
	return l.Addr().String(), pool
}

func passOn(conn net.Conn, server string) {
	defer conn.Close()
	behind, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer behind.Close()
	go func() { _, _ = io.Copy(behind, conn); _ = behind.Close() }()
	_, _ = io.Copy(conn, behind)
}

// The first request of a session waits until the session is authenticated with all credentials.
func TestTheFirstRequestIsAuthenticated(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	where := zklock.Root("/test-" + driver.NewNonce().String())
	for range 10 {
		b := open(t, n.servers, where, zklock.Digest("a", "p"), zklock.Digest("b", "p"), zklock.Digest("c", "p"), zklock.ACL(zk.DigestACL(zk.PermAll, "c", "p")...))
		g, err := b.Acquire(t.Context(), request("a"))
		require.NoError(t, err)
		require.NoError(t, b.Release(t.Context(), g))
	}
}
