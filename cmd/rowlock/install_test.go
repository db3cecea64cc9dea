//go:build !race

// The test in this file builds the command itself, without the race detector, so it runs without it only.

package main

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

const modulePath = "github.com/rowlock/rowlock"

// "go install …/cmd/rowlock@v0.1.0" builds a program that reports v0.1.0. The test publishes this module on its own
// module proxy, installs the program, and runs rowlock version.
func TestCompatAnInstalledVersionReportsItself(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	const version = "v0.1.0"
	proxy, bin := t.TempDir(), t.TempDir()
	publish(t, proxy, version)
	environment := func(name string) string {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	install := exec.CommandContext(t.Context(), "go", "install", "-trimpath", modulePath+"/cmd/rowlock@"+version)
	install.Dir = t.TempDir() // a folder outside of any module
	install.Env = append(os.Environ(), "GOBIN="+bin, "GO111MODULE=on", "GOWORK=off", "CGO_ENABLED=0", "GOSUMDB=off",
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw", // the version must not stay in the module cache of this machine
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(environment("GOMODCACHE"))+"/cache/download,"+environment("GOPROXY"))
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)

	out, err = exec.CommandContext(t.Context(), filepath.Join(bin, "rowlock"), "version").Output()
	require.NoError(t, err)
	assert.Equal(t, "rowlock "+version+" ("+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+")\n", string(out))
}

// publish writes this module into a folder that serves as a module proxy (https://go.dev/ref/mod#goproxy-protocol).
func publish(t *testing.T, proxy, version string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	folder := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for name, text := range map[string]string{"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod)} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	file, err := os.Create(filepath.Join(folder, version+".zip"))
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && apart(path):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return add(archive, modulePath+"@"+version+"/"+filepath.ToSlash(name), path)
	}))
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
}

// apart reports whether a folder is not part of the module's source, for example because the folder is a separate module.
func apart(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	base := filepath.Base(folder)
	return err == nil || base == ".git" || base == "dist"
}

func add(archive *zip.Writer, name, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was read
	to, err := archive.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}
