package testserver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// EtcdVersion is the release of etcd that is built, unless the environment variable ROWLOCK_ETCD_VERSION names another.
const EtcdVersion = "v3.7.3"

// provideEtcd builds the server from its Go module, once: distributions have old releases, and no package manager is
// needed for this. The build has a module of its own, so that ours does not depend on a server.
func provideEtcd(ctx context.Context, o Options) (string, error) {
	version := cmp.Or(os.Getenv("ROWLOCK_ETCD_VERSION"), EtcdVersion)
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "etcd-"+version)
	if executable(path) {
		return path, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", &missing{"etcd", "put Go on the PATH, which builds it", err}
	}
	err = alone("etcd", func(cache string) error {
		if executable(path) { // another launcher was here first
			return nil
		}
		o.Logf("building etcd %s, once, about a minute", version)
		return buildEtcd(ctx, cache, version, path)
	})
	if err != nil {
		return "", &missing{"etcd", "see that Go can reach its module proxy", err}
	}
	return path, nil
}

func buildEtcd(ctx context.Context, cache, version, path string) (err error) {
	scratch, err := os.MkdirTemp(cache, "etcd-build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module scratch\n\ngo 1.26\n"), 0o644); err != nil {
		return err
	}
	const server = "go.etcd.io/etcd/server/v3"
	program := filepath.Join(scratch, "etcd")
	for _, step := range [][]string{
		{"-C", scratch, "get", server + "@" + version},
		{"-C", scratch, "build", "-trimpath", "-ldflags=-s -w", "-o", program, server},
	} {
		if err := runQuietly(ctx, "go", step...); err != nil {
			return err
		}
	}
	return os.Rename(program, path)
}
