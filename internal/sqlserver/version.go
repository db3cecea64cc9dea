// Package sqlserver recognises the kind of a database server by the result of the server's function version().
package sqlserver

import (
	"fmt"
	"strings"
)

// imitation is a server that speaks the protocol of PostgreSQL or MySQL, but lacks a guarantee that locks need. The
// text in the field mark occurs in its version text.
type imitation struct{ mark, name, why string }

// The marks must be in lower case, because version texts are converted to lower case before the comparison.
var imitations = []imitation{
	{"cockroachdb", "CockroachDB", "its advisory locks exclude nobody, and each of its nodes has a clock of its own, by which a lease may end early"},
	{"-yb-", "YugabyteDB", "each of its nodes has a clock of its own, by which a lease may end early"},
	{"vitess", "Vitess", "it spreads statements over several servers and shares sessions between clients: reach one MySQL server directly"},
	{"tidb", "TiDB", "it ignores SKIP LOCKED, so that two transactions get one row"},
}

// Supported returns an error if the version text is from a server that only imitates PostgreSQL or MySQL. The error
// names the server and the reason.
func Supported(version string) error {
	lower := strings.ToLower(version)
	for _, i := range imitations {
		if strings.Contains(lower, i.mark) {
			return fmt.Errorf("server version %q: %s is not supported, because %s", version, i.name, i.why)
		}
	}
	return nil
}

// MySQL reports whether the version text is from MariaDB. It returns an error if the server is not suitable for
// locks. The oldest supported versions are the first that have both SKIP LOCKED and JSON_TABLE.
func MySQL(version string) (mariadb bool, err error) {
	if err := Supported(version); err != nil {
		return false, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false, fmt.Errorf("server version %q is not understood: %w", version, err)
	}
	mariadb = strings.Contains(version, "MariaDB")
	switch {
	case mariadb && (major < 10 || major == 10 && minor < 6):
		return true, fmt.Errorf("server version %q is too old: want MariaDB 10.6 or newer", version)
	case !mariadb && major < 8:
		return false, fmt.Errorf("server version %q is too old: want MySQL 8.0 or newer", version)
	}
	return mariadb, nil
}
