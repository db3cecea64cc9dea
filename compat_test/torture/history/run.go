package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Run is a whole run.
type Run struct {
	Meta   Meta
	Events []Event // of all processes, by At
	Audit  []Change
	Ledger []Link
}

// Meta is what was run, and what may be expected of it.
type Meta struct {
	Backend string
	Seed    uint64
	TTL     time.Duration
	Workers int
	Dense   bool
	Took    time.Duration
	Repeat  string // the command that lays out the same plan
	Expect  Expect
}

// Expect is what a store promises, as this test understands it: not as the library claims.
type Expect struct {
	Claims  string   // name of the backend by its capabilities
	Tokens  string   // their quality, as the capabilities must say it
	Audited bool     // the store writes every change down
	Pruned  bool     // rows of free locks are deleted all the time
	Minted  bool     // the data mint the token: those of the ledger are not those of the lock
	Told    bool     // a holder hears of its loss at once, so that its stale writes may not reach the data
	Overlap []string // faults that may give a name to a second holder while the first one trusts
	Regress []string // faults after which a token may be smaller than one before
	Crash   time.Duration
	// Overtaken is by how many others that asked later a waiter may be overtaken; 0: by any number.
	Overtaken int
}

const (
	metaFile   = "run.json"
	auditFile  = "audit.jsonl"
	ledgerFile = "ledger.jsonl"
	logs       = "log-*.jsonl"
)

// LogFile is the log of a process in the folder of a run; 0 is the supervisor.
func LogFile(folder string, worker int) string {
	return filepath.Join(folder, fmt.Sprintf("log-%04d.jsonl", worker))
}

// Write writes all but the logs, which the processes have written.
func (r *Run) Write(folder string) error {
	text, err := json.MarshalIndent(r.Meta, "", "\t")
	return errors.Join(err,
		os.WriteFile(filepath.Join(folder, metaFile), text, 0o644),
		writeLines(filepath.Join(folder, auditFile), r.Audit),
		writeLines(filepath.Join(folder, ledgerFile), r.Ledger))
}

// Open reads a run.
func Open(folder string) (*Run, error) {
	r := new(Run)
	text, err := os.ReadFile(filepath.Join(folder, metaFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r.Meta); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(folder, logs))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		events, err := readLines[Event](path)
		if err != nil {
			return nil, err
		}
		r.Events = append(r.Events, events...)
	}
	slices.SortStableFunc(r.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	var errs [2]error
	r.Audit, errs[0] = readLines[Change](filepath.Join(folder, auditFile))
	r.Ledger, errs[1] = readLines[Link](filepath.Join(folder, ledgerFile))
	return r, errors.Join(errs[:]...)
}

func writeLines[T any](path string, lines []T) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffer := bufio.NewWriter(file)
	to := json.NewEncoder(buffer)
	for _, line := range lines {
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

func readLines[T any](path string) (lines []T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for from := json.NewDecoder(bufio.NewReaderSize(file, 1<<20)); ; {
		var line T
		switch err := from.Decode(&line); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the latter: killed as it wrote
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("%s, line %d: %w", path, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
}
