package testserver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// EtcdVersion is the release of etcd that is built by default. Options or the environment variable
// ROWLOCK_ETCD_VERSION may name another release. EtcdOldVersion is the newest release of the previous series.
const (
	EtcdVersion    = "v3.7.3"
	EtcdOldVersion = "v3.6.16"
)

// Etcdutl returns the path of the program that works on the data of a stopped etcd.
func Etcdutl(ctx context.Context, o Options) (string, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	return provideEtcd(ctx, "etcdutl", "go.etcd.io/etcd/etcdutl/v3", o)
}

// provideEtcd builds a program of etcd from its Go module, once. Linux distributions package only old releases of
// etcd. A build also needs no package manager. The build uses a separate Go module, so that this module does not
// depend on etcd's server.
func provideEtcd(ctx context.Context, name, pkg string, o Options) (string, error) {
	version := cmp.Or(o.Version, os.Getenv("ROWLOCK_ETCD_VERSION"), EtcdVersion)
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, name+"-"+version)
	if executable(path) {
		return path, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", &missing{name, "install Go, which builds etcd, and add it to the PATH", err}
	}
	err = alone("etcd", func(cache string) error {
		if executable(path) { // another launcher has built it in the meantime
			return nil
		}
		o.Logf("building %s %s, once, up to a minute", name, version)
		return buildEtcd(ctx, cache, pkg, version, path)
	})
	if err != nil {
		return "", &missing{name, "check that Go can reach its module proxy", err}
	}
	return path, nil
}

func buildEtcd(ctx context.Context, cache, pkg, version, path string) (err error) {
	scratch, err := os.MkdirTemp(cache, "etcd-build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module scratch\n\ngo 1.26\n"), 0o644); err != nil {
		return err
	}
	program := filepath.Join(scratch, "program")
	for _, step := range [][]string{
		{"-C", scratch, "get", pkg + "@" + version},
		{"-C", scratch, "build", "-trimpath", "-ldflags=-s -w", "-o", program, pkg},
	} {
		if err := runQuietly(ctx, "go", step...); err != nil {
			return err
		}
	}
	return os.Rename(program, path)
}
