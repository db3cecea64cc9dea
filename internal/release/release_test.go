//go:build linux

// Package release_test checks the results of `make release`: the command and its Debian package.
// It also checks the container image.
package release_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

const (
	root    = "../.."
	version = "v0.1.0"
)

// `make release` makes a static command that reports its version, and a Debian package that contains the same
// command. The container image, built as its Dockerfile says, contains exactly that command.
func TestCompatRelease(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	dist := t.TempDir()
	released := exec.CommandContext(t.Context(), "make", "release", "PLATFORMS=linux/"+runtime.GOARCH, "VERSION="+version, "DIST="+dist)
	released.Dir = root
	released.Env = append(os.Environ(), "MAKEFLAGS=", "SOURCE_DATE_EPOCH=1800000000")
	out, err := released.CombinedOutput()
	require.NoError(t, err, "%s", out)
	binary := filepath.Join(dist, "rowlock_linux_"+runtime.GOARCH)
	assertVersion(t, exec.CommandContext(t.Context(), binary, "version"))
	program, err := elf.Open(binary)
	require.NoError(t, err)
	defer program.Close() //nolint:errcheck // it was read
	libraries, err := program.ImportedLibraries()
	require.NoError(t, err)
	assert.Empty(t, libraries, "it is static")
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Contains(t, string(sums), "  "+filepath.Base(binary)+"\n")

	t.Run("debian", func(t *testing.T) {
		if _, err := exec.LookPath("dpkg-deb"); err != nil {
			assert.Contains(t, string(out), "no Debian package: it is made by dpkg-deb, which is not installed")
			require.NotEqual(t, "all", os.Getenv("ROWLOCK_REQUIRE"), "dpkg-deb is not installed, and ROWLOCK_REQUIRE=all")
			t.Skip("dpkg-deb is not installed")
		}
		deb := filepath.Join(dist, "rowlock_0.1.0_"+runtime.GOARCH+".deb")
		assert.Contains(t, string(sums), "  "+filepath.Base(deb)+"\n")
		checkPackage(t, deb, binary)
	})
	t.Run("image", func(t *testing.T) { checkImage(t, binary) })
}

// checkPackage checks the fields and the files of the Debian package, and runs the command in it.
func checkPackage(t *testing.T, deb, binary string) {
	fields := run(t, exec.CommandContext(t.Context(), "dpkg-deb", "--field", deb))
	assert.Contains(t, fields, "Package: rowlock\nVersion: 0.1.0\nArchitecture: "+runtime.GOARCH+"\n")
	assert.NotContains(t, fields, "Depends:")
	var files []string
	line := regexp.MustCompile(`^(\S+) root/root +\d+ \S+ \S+ \./(.*)$`)
	for _, l := range strings.Split(strings.TrimSpace(run(t, exec.CommandContext(t.Context(), "dpkg-deb", "--contents", deb))), "\n") {
		m := line.FindStringSubmatch(l)
		require.NotNil(t, m, "a file of root's: %s", l)
		if !strings.HasSuffix(m[2], "/") && m[2] != "" {
			files = append(files, m[1]+" "+m[2])
		}
	}
	assert.ElementsMatch(t, []string{
		"-rwxr-xr-x usr/bin/rowlock",
		"-rw-r--r-- usr/share/bash-completion/completions/rowlock",
		"-rw-r--r-- usr/share/doc/rowlock/CHANGELOG.md.gz",
		"-rw-r--r-- usr/share/doc/rowlock/changelog.gz",
		"-rw-r--r-- usr/share/doc/rowlock/copyright",
		"-rw-r--r-- usr/share/fish/vendor_completions.d/rowlock.fish",
		"-rw-r--r-- usr/share/lintian/overrides/rowlock",
		"-rw-r--r-- usr/share/man/man1/rowlock.1.gz",
		"-rw-r--r-- usr/share/zsh/vendor-completions/_rowlock",
	}, files)

	unpacked := t.TempDir()
	run(t, exec.CommandContext(t.Context(), "dpkg", "-x", deb, unpacked))
	assertVersion(t, exec.CommandContext(t.Context(), filepath.Join(unpacked, "usr/bin/rowlock"), "version"))
	assertSame(t, binary, filepath.Join(unpacked, "usr/bin/rowlock"))
	page := run(t, exec.CommandContext(t.Context(), "gzip", "-dc", filepath.Join(unpacked, "usr/share/man/man1/rowlock.1.gz")))
	assert.True(t, strings.HasPrefix(page, ".TH ROWLOCK 1\n"))
	if _, err := exec.LookPath("lintian"); err != nil {
		require.NotEqual(t, "all", os.Getenv("ROWLOCK_REQUIRE"), "lintian is not installed, and ROWLOCK_REQUIRE=all")
		t.Log("lintian is not installed: the package was not checked by it")
		return
	}
	run(t, exec.CommandContext(t.Context(), "lintian", "--fail-on", "error,warning", deb))
}

func assertVersion(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	assert.Equal(t, "rowlock "+version+" ("+runtime.Version()+", linux/"+runtime.GOARCH+")\n", run(t, cmd))
}

func assertSame(t *testing.T, a, b string) {
	t.Helper()
	first, err := os.ReadFile(a)
	require.NoError(t, err)
	second, err := os.ReadFile(b)
	require.NoError(t, err)
	assert.True(t, string(first) == string(second), "%s and %s differ", a, b)
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", cmd, out)
	return string(out)
}
