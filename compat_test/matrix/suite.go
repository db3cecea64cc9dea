package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// suites holds the test programs of packages. Each program is built once.
type suites struct {
	folder string
	mu     sync.Mutex // held while a program is built
	built  map[string]string
}

// suite selects the conformance tests that a package has for one server.
type suite struct {
	pkg  string // the package's folder in the module
	run  string // the pattern for the flag -run
	tags string
}

// result is a row of the table.
type result struct {
	server, version string
	suite
	passed, skipped, failed int
	problem                 string
	// true if the release is known to be unavailable, so that the missing result is no failure
	absent bool
	took   time.Duration
}

const header = "| server | release | package | tests | cases kept | declared exceptions | broken |\n|---|---|---|---|---:|---:|---:|"

func (r result) String() string {
	if r.problem != "" {
		return fmt.Sprintf("| %s | %s | %s | not run: %s | | | |", r.server, r.version, r.pkg, r.problem)
	}
	return fmt.Sprintf("| %s | %s | %s | `%s` | %d | %d | %d |", r.server, r.version, r.pkg, strings.ReplaceAll(r.run, "|", `\|`), r.passed, r.skipped, r.failed)
}

func (s *suites) build(ctx context.Context, of suite) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := of.pkg + of.tags
	if path := s.built[key]; path != "" {
		return path, nil
	}
	path := filepath.Join(s.folder, strings.ReplaceAll(key, "/", "-")+".test")
	module, pkg := "..", "./"+of.pkg
	if of.pkg == here {
		module, pkg = ".", "."
	}
	cmd := exec.CommandContext(ctx, "go", "-C", module, "test", "-c", "-tags="+of.tags, "-o", path, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	s.built[key] = path
	return path, nil
}

// here is the name of the package compat_test of this module.
const here = "compat_test"

var verdict = regexp.MustCompile(`(?m)^ *--- (PASS|SKIP|FAIL): (\S+)`)

// do runs a suite with the given environment variables.
func (s *suites) do(ctx context.Context, r result, environment []string) result {
	path, err := s.build(ctx, r.suite)
	if err != nil {
		r.problem = err.Error()
		return r
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, path, "-test.v", "-test.timeout=5m", "-test.parallel=4", "-test.run", r.run)
	cmd.Dir, cmd.Env = filepath.Join("..", r.pkg), append(append(os.Environ(), "ROWLOCK_COMPAT=all"), environment...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	r.took = time.Since(began)
	found := verdict.FindAllStringSubmatch(out.String(), -1)
	for _, v := range found {
		leaf := true
		for _, other := range found {
			leaf = leaf && !strings.HasPrefix(other[2], v[2]+"/")
		}
		if !leaf {
			continue
		}
		switch v[1] {
		case "PASS":
			r.passed++
		case "SKIP":
			r.skipped++
		default:
			r.failed++
		}
	}
	if err != nil || r.passed == 0 {
		r.failed = max(r.failed, 1)
		fmt.Fprintln(os.Stderr, out.String())
	}
	return r
}
