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

// unpacked is a Debian package with all its libraries in a separate folder.
type unpacked struct{ root string }

// unpack downloads a package of a Debian suite into the cache, unless the cache already has it.
func unpack(ctx context.Context, o Options, suite, pkg string) (*unpacked, error) {
	root, err := unpackTo(ctx, o, suite, pkg, func(root string) bool { return (&unpacked{root}).complete() })
	return &unpacked{root}, err
}

// unpackTo returns the folder in the cache that contains the unpacked package. The function complete reports whether
// all files exist. The parameter more contains further arguments of the script that unpacks.
func unpackTo(ctx context.Context, o Options, suite, pkg string, complete func(root string) bool, more ...string) (string, error) {
	if cache, err := cacheFolder(); err == nil { // checks before taking the lock, which another launcher may hold for long
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

// argv returns the command line that runs one of the package's programs on this machine, with the package's own
// loader and libraries.
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
