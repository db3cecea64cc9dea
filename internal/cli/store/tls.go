package store

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// tlsOptions lists the TLS options that every kind of store with TLS accepts: files in PEM form, and the name in the
// servers' certificates if it differs from the address.
var tlsOptions = []string{"ca", "cert", "key", "server_name"}

// tls returns the TLS settings for the servers, or nil without TLS. Without the option ca, the client trusts the
// system's certificate authorities.
func (at *KeyValue) tls() (*tls.Config, error) {
	if !at.Secure {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: at.option("server_name")}
	if file := at.option("ca"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, exit.Usagef("--store: ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, exit.Usagef("--store: ca: no certificate in PEM form is in %s", file)
		}
	}
	cert, key := at.option("cert"), at.option("key")
	switch {
	case cert == "" && key == "":
		return cfg, nil
	case cert == "" || key == "":
		return nil, exit.Usagef("--store: cert and key belong together: one of them is missing")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, exit.Usagef("--store: cert and key: %w", err)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}
