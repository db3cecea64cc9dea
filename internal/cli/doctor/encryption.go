package doctor

import (
	"context"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/migrations"
)

// encryptionCheck reports whether other computers on the network can read the traffic between this machine and the
// store.
func (s database) encryptionCheck() check {
	return check{"encryption", func(ctx context.Context, r *Report) error {
		if s.At.KeyValue != nil {
			version := ""
			if s.At.KeyValue.Secure {
				version = "TLS 1.2 or newer"
			}
			r.encryption(version, s.At.KeyValue.Servers, "write "+secureScheme(s.At.KeyValue.Scheme)+":// (docs/tls.md)")
			return nil
		}
		facts, err := s.facts(ctx, "tls")
		if err != nil {
			return err
		}
		hosts, do := []string{}, "add tls=true to --store; for a certificate authority of your own, see docs/tls.md"
		if s.At.Dialect == migrations.Postgres {
			cfg, err := pgxpool.ParseConfig(s.At.PostgresURL)
			if err != nil {
				return err
			}
			hosts, do = []string{cfg.ConnConfig.Host}, "add sslmode=verify-full to --store: without it, the connection is in plaintext if the server has no TLS"
			for _, other := range cfg.ConnConfig.Fallbacks {
				hosts = append(hosts, other.Host)
			}
		} else if s.At.MySQL.Net == "tcp" {
			hosts = []string{s.At.MySQL.Addr}
		}
		r.encryption(facts["ssl_version"], hosts, do)
		return nil
	}}
}

// secureScheme returns the scheme of the same kind of store with TLS.
func secureScheme(scheme string) string {
	if plain, cluster, is := strings.Cut(scheme, "+"); is {
		return plain + "s+" + cluster
	}
	return scheme + "s"
}

func (r *Report) encryption(version string, hosts []string, do string) {
	near := true
	for _, host := range hosts {
		near = near && onThisMachine(host)
	}
	switch {
	case version != "":
		r.ok("encryption", "the connection is encrypted: "+version)
	case near:
		r.ok("encryption", "the connection is not encrypted, and does not leave this machine")
	default:
		r.warn("encryption", "the connection is not encrypted: others on the network can read and change names, holders and data", do)
	}
}

// onThisMachine reports whether host is this machine, so that the connection uses no network. The parameter host is a
// name, HOST:PORT, or the folder of a Unix socket.
func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || ip != nil && ip.IsLoopback()
}
