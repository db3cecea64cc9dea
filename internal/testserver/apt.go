package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// provideWithApt returns the path of a program, which it finds with the function look. If the program is missing, apt
// is available and this process is root, provideWithApt installs the package pkg.
func provideWithApt(ctx context.Context, o Options, program, pkg string, look func() string) (string, error) {
	if path := look(); path != "" {
		return path, nil
	}
	remedy := fmt.Sprintf("install it (Debian: apt-get install %s)", pkg)
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", &missing{program: program, remedy: remedy}
	}
	err := alone("apt", func(cache string) error {
		if look() != "" { // another launcher has installed it in the meantime
			return nil
		}
		o.Logf("installing %s with apt-get", pkg)
		return aptInstall(ctx, cache, pkg)
	})
	path := look()
	if err == nil && path == "" {
		err = fmt.Errorf("package %s does not bring it", pkg)
	}
	if err != nil {
		return "", &missing{program: program, remedy: remedy, cause: err}
	}
	return path, nil
}

// aptInstall installs packages, separated by spaces, without asking questions. It never removes other packages,
// because the machine may be a developer's.
func aptInstall(ctx context.Context, cache, pkg string) error {
	// Container images have a hook that empties apt's archive folder after each dpkg run. This breaks an installation
	// of several packages, so the archives are kept in another folder.
	archives := filepath.Join(cache, "archives")
	if err := os.MkdirAll(filepath.Join(archives, "partial"), 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(archives)
	install := func() error {
		args := []string{"-o", "Dir::Cache::archives=" + archives, "install", "--no-install-recommends", "--no-remove"}
		return apt(ctx, append(args, strings.Fields(pkg)...)...)
	}
	update := apt(ctx, "update") // ignores the error: the installation works even if one of several package sources is broken
	err := install()
	if err == nil || ctx.Err() != nil {
		return err
	}
	repair := apt(ctx, "-o", "Dir::Cache::archives="+archives, "--fix-broken", "--no-remove", "install")
	if again := install(); again != nil {
		return errors.Join(update, repair, again)
	}
	return nil
}

func apt(ctx context.Context, args ...string) error {
	args = append([]string{
		"-q", "-y", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30",
		"-o", "Dpkg::Options::=--force-confold", "-o", "APT::Sandbox::User=root",
	}, args...)
	return runQuietly(ctx, "apt-get", args...)
}

// runQuietly runs a program that must not ask questions. Its error contains the last lines of the program's output.
func runQuietly(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1", "LC_ALL=C")
	cmd.SysProcAttr = stepAttributes(nil)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // lets dpkg finish its current step
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), errors.Join(err, ctx.Err()), lastLines(strings.TrimSpace(out.String()), 8))
	}
	return nil
}
