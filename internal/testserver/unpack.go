package testserver

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed scripts/unpack.sh
var unpackScript []byte

// unpacked is a Debian package with all its libraries in a folder of its own.
type unpacked struct{ root string }

// unpack brings a package of a Debian suite into the cache, if it is not there yet.
func unpack(ctx context.Context, o Options, suite, pkg string) (*unpacked, error) {
	root, err := unpackTo(ctx, o, suite, pkg, func(root string) bool { return (&unpacked{root}).complete() })
	return &unpacked{root}, err
}

// unpackTo returns the folder in the cache that a package was unpacked into. complete reports whether all is there. more are
// further arguments of the script.
func unpackTo(ctx context.Context, o Options, suite, pkg string, complete func(root string) bool, more ...string) (string, error) {
	if cache, err := cacheFolder(); err == nil { // do not wait for the lock when there is nothing to do
		if root := filepath.Join(cache, pkg); complete(root) {
			return root, nil
		}
	}
	for _, tool := range []string{"apt-get", "dpkg-deb", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", errors.New("this needs the tools of Debian; there is no " + tool)
		}
	}
	var root string
	err := alone(pkg, func(cache string) error {
		root = filepath.Join(cache, pkg)
		if complete(root) {
			return nil
		}
		o.Logf("unpacking %s of Debian %s into %s", pkg, suite, root)
		leftovers, _ := filepath.Glob(root + ".*")
		for _, path := range leftovers {
			if path != root+".lock" {
				_ = os.RemoveAll(path)
			}
		}
		script := filepath.Join(cache, "unpack.sh")
		if err := os.WriteFile(script, unpackScript, 0o755); err != nil {
			return err
		}
		return runQuietly(ctx, "bash", append([]string{script, suite, root, pkg}, more...)...)
	})
	return root, err
}

func (u *unpacked) complete() bool {
	return u.loader() != "" && u.libraries() != ""
}

// argv is how to run one of its programs on this machine: by its own loader, with its own libraries.
func (u *unpacked) argv(program string) []string {
	program = filepath.Join(u.root, program)
	return []string{u.loader(), "--library-path", u.libraries(), "--argv0", program, program}
}

func (u *unpacked) loader() string {
	return firstMatch(filepath.Join(u.root, "usr/lib64/ld-linux-*.so.*"), filepath.Join(u.root, "usr/lib/ld-linux-*.so.*"))
}

func (u *unpacked) libraries() string {
	return firstMatch(filepath.Join(u.root, "usr/lib/*-linux-gnu"))
}

func firstMatch(patterns ...string) string {
	for _, p := range patterns {
		if m, _ := filepath.Glob(p); len(m) > 0 {
			return m[0]
		}
	}
	return ""
}
