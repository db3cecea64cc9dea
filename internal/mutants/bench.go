package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bench builds and runs tests in a folder.
type bench struct{ folder string }

// result tells whether a mutant was caught, and by which tests.
type result struct {
	mutant
	took time.Duration
	err  error // the reason why the mutant is not caught
}

// The method sound runs the tests of all mutants on the code without a defect. It returns an error if a test fails.
func (b bench) sound(ctx context.Context, all []mutant) error {
	byPackage := map[string]suite{}
	for _, m := range all {
		for _, of := range m.tests {
			s := byPackage[of.pkg]
			s.pkg = of.pkg
			for _, name := range of.names {
				if !slices.Contains(s.names, name) {
					s.names = append(s.names, name)
				}
			}
			byPackage[s.pkg] = s
		}
	}
	for _, s := range byPackage {
		program := filepath.Join(b.folder, "sound.test")
		if err := build(ctx, s.pkg, program); err != nil {
			return err
		}
		output, err := try(ctx, s, program)
		if err != nil {
			return fmt.Errorf("%s without any defect: %w\n%s", s.pkg, err, output)
		}
		for _, name := range s.names {
			if !strings.Contains(output, "--- PASS: "+name+" ") {
				return fmt.Errorf("%s: %s was not run, or was skipped\n%s", s.pkg, name, output)
			}
		}
	}
	return nil
}

func (b bench) run(ctx context.Context, all []mutant, together int) []result {
	results := make([]result, len(all))
	turns := make(chan struct{}, together)
	var group sync.WaitGroup
	for i, m := range all {
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			start := time.Now()
			err := b.catch(ctx, m, strconv.Itoa(i))
			results[i] = result{m, time.Since(start), err}
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", m.name, err)
			}
		})
	}
	group.Wait()
	return results
}

// catch builds the mutant m and runs its tests. A test finds the defect if it fails. The method catch returns nil if
// every test finds the defect.
func (b bench) catch(ctx context.Context, m mutant, id string) error {
	texts, err := m.mutated()
	if err != nil {
		return err
	}
	overlay, err := b.overlay(texts, id)
	for _, s := range m.tests {
		if err == nil {
			err = b.find(ctx, s, overlay, id)
		}
	}
	return err
}

// find runs the tests of s on the code of the overlay. It returns nil if each of them finds the defect.
func (b bench) find(ctx context.Context, s suite, overlay, id string) error {
	program := filepath.Join(b.folder, id+".test")
	defer os.Remove(program)
	if err := build(ctx, s.pkg, program, "-overlay="+overlay); err != nil {
		return fmt.Errorf("it does not compile: %w", err)
	}
	output, err := try(ctx, s, program)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return errors.New("it survives")
	case !errors.As(err, &ended) || ctx.Err() != nil:
		return err
	}
	for _, name := range s.names {
		if !strings.Contains(output, "--- FAIL: "+name+" ") {
			return fmt.Errorf("the defect is not found by %s\n%s", name, output)
		}
	}
	return nil
}

// overlay writes the changed files and a description for the compiler's flag -overlay, and returns the description's
// path.
func (b bench) overlay(texts map[string][]byte, id string) (string, error) {
	replace := map[string]string{}
	for file, text := range texts {
		real, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[real] = filepath.Join(b.folder, id+"-"+filepath.Base(file))
		if err := os.WriteFile(replace[real], text, 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, id+".json")
	return path, os.WriteFile(path, list, 0o600)
}

func build(ctx context.Context, pkg, program string, flags ...string) error {
	argv := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}, flags...)
	output, err := exec.CommandContext(ctx, "go", append(argv, "./"+pkg)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// The function try runs the tests of s. It ends a test that takes too long. A test that was ended counts as a test that
// has found no defect.
func try(ctx context.Context, s suite, program string) (output string, err error) {
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.count=1", "-test.timeout=5m", "-test.run="+s.pattern())
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.pkg, &out, &out
	cmd.Env = environment()
	err = cmd.Run()
	return out.String(), err
}

func environment() []string {
	// Each test of random schedules in package simulate runs this many, because a few schedules may not show a defect.
	return append(os.Environ(), "ROWLOCK_SIMULATE_SCHEDULES=5000")
}
