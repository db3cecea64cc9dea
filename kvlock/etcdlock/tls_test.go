package etcdlock_test

import (
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

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A cluster may require client certificates. It then serves a client that has a valid certificate in its tls.Config. A
// client gets no lock if it has no certificate, if another authority signed its certificate, or if it does not trust
// the server's certificate. The error is then not ErrHeld. If the client does not trust the server's certificate, the
// error says so. In the other cases the text depends on what the server sends before it closes the connection.
func TestCompatCertificatesOfBothSides(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	certFile, keyFile := ours.issue(t).files(t)
	s := &secured{Server: aloneWith(t, testserver.Options{
		CertFile: certFile, KeyFile: keyFile, Args: []string{"--client-cert-auth", "--trusted-ca-file=" + ours.file(t)},
	})}
	s.trust = &tls.Config{RootCAs: ours.pool(), Certificates: []tls.Certificate{ours.issue(t).Certificate}}
	locks := etcdlock.New(s.as(t, "", ""))
	lease, err := lockerOn(t, locks).Acquire(t.Context(), "a")
	require.NoError(t, err)
	waits := make(chan struct{})
	next := make(chan error, 1)
	go func() {
		waiter := lockerOn(t, etcdlock.New(s.as(t, "", "")), rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { close(waits) }}))
		lease, err := waiter.Acquire(t.Context(), "a")
		if err == nil {
			err = lease.Release(t.Context())
		}
		next <- err
	}()
	<-waits
	require.NoError(t, lease.Renew(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, <-next)

	for name, bad := range map[string]struct {
		trust *tls.Config
		said  string
	}{
		"none":              {&tls.Config{RootCAs: ours.pool()}, ""},
		"another's":         {&tls.Config{RootCAs: ours.pool(), Certificates: []tls.Certificate{theirs.issue(t).Certificate}}, ""},
		"another authority": {&tls.Config{RootCAs: theirs.pool(), Certificates: s.trust.Certificates}, "signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := (&secured{Server: s.Server, trust: bad.trust}).as(t, "", "")
			_, err := lockerOn(t, etcdlock.New(client), rowlock.TTL(time.Second)).Acquire(t.Context(), "a")
			require.ErrorIs(t, err, rowlock.ErrUnavailable)
			require.NotErrorIs(t, err, rowlock.ErrHeld)
			require.ErrorContains(t, err, bad.said)
		})
	}
}

// authority issues certificates for this machine, as a server and as a client.
type authority struct {
	tls.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	return &authority{sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)}
}

func (a *authority) issue(t *testing.T) issued {
	t.Helper()
	return issued{sign(t, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // ClientAuth: etcd's gateway connects to its own server as a client
	}, a)}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Leaf)
	return pool
}

func (a *authority) file(t *testing.T) string {
	t.Helper()
	return writePEM(t, "CERTIFICATE", a.Leaf.Raw)
}

type issued struct{ tls.Certificate }

func (i issued) files(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(i.PrivateKey)
	require.NoError(t, err)
	return writePEM(t, "CERTIFICATE", i.Leaf.Raw), writePEM(t, "PRIVATE KEY", key)
}

// sign makes a key and a certificate. The parameter issuer is the authority that signs the certificate. If issuer is
// nil, the certificate is self-signed.
func sign(t *testing.T, template *x509.Certificate, issuer *authority) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
	parent, signer := template, any(key)
	if issuer != nil {
		parent, signer = issuer.Leaf, issuer.PrivateKey
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

func writePEM(t *testing.T, kind string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pem")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
	return path
}
