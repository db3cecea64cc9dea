package sqlserver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqlserver"
)

// Servers that imitate PostgreSQL or MySQL are recognised by their version texts, and the error names them.
// PostgreSQL, MySQL and servers built from their source are accepted.
func TestImitationsAreNamed(t *testing.T) {
	t.Parallel()
	for version, name := range map[string]string{
		"CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)":              "CockroachDB",
		"CockroachDB OSS v22.2.19 (aarch64-unknown-linux-gnu, built 2024/03/18 12:00:00, go1.19.13)":        "CockroachDB",
		"PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit":   "YugabyteDB",
		"PostgreSQL 15.2-YB-2024.2.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit": "YugabyteDB",
		"8.0.23-vitess": "Vitess", "8.0.30-Vitess": "Vitess", "8.4.6-Vitess": "Vitess",
		"5.7.25-TiDB-v7.1.0": "TiDB", "8.0.11-TiDB-v8.5.0": "TiDB",
	} {
		require.ErrorContains(t, sqlserver.Supported(version), version)
		require.ErrorContains(t, sqlserver.Supported(version), name+" is not supported, because")
	}
	for _, version := range []string{
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit",
		"PostgreSQL 14.6 (EnterpriseDB Advanced Server 14.6.0) on x86_64-pc-linux-gnu, compiled by gcc (GCC) 4.8.5, 64-bit",
		"PostgreSQL 16.3 on aarch64-unknown-linux-gnu, compiled by aarch64-unknown-linux-gnu-gcc (GCC) 9.5.0, 64-bit",
		"8.0.36", "9.7.4-2", "8.4.3-3 Percona", "8.0.28-rds", "10.6.1-MariaDB", "10.11.19-MariaDB-0+deb12u1",
	} {
		assert.NoError(t, sqlserver.Supported(version), version)
	}
}

// Versions of MySQL and MariaDB without SKIP LOCKED or JSON_TABLE are refused, and a text that is not a version is
// refused too.
func TestMySQLVersions(t *testing.T) {
	t.Parallel()
	for version, mariadb := range map[string]bool{
		"8.0.36": false, "9.7.4-2": false, "8.4.3-3 Percona": false, "10.6.1-MariaDB": true, "10.11.19-MariaDB-0+deb12u1": true, "12.0.2-MariaDB": true,
	} {
		got, err := sqlserver.MySQL(version)
		require.NoError(t, err)
		assert.Equal(t, mariadb, got, version)
	}
	for _, version := range []string{"5.7.44-log", "10.5.29-MariaDB", "8.0.11-TiDB-v8.5.0", "8.0.23-vitess", "", "Percona"} {
		_, err := sqlserver.MySQL(version)
		require.ErrorContains(t, err, version)
	}
}
