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

// Run is the complete history of a run.
type Run struct {
	Meta   Meta
	Events []Event // events of all processes, ordered by At
	Audit  []Change
	Ledger []Link
}

// Meta describes a run and what the checker may expect of it.
type Meta struct {
	Backend string
	Seed    uint64
	TTL     time.Duration
	Workers int
	Dense   bool
	Took    time.Duration
	Repeat  string // the command that repeats the run with the same plan
	Expect  Expect
}

// Expect describes what a store promises, according to this test. The test does not use the library's own claims.
type Expect struct {
	Claims  string   // the backend's name in its capabilities
	Tokens  string   // the quality of tokens that the capabilities must report
	Audited bool     // the store records every change
	Pruned  bool     // rows of free locks are pruned during the run
	Minted  bool     // the database of the data issues tokens, so the tokens in the ledger differ from the lock's tokens
	Told    bool     // a holder detects its loss at once, so its stale writes may not reach the database
	Overlap []string // faults after which a name may have a second holder while the first holder trusts its lease
	Regress []string // faults after which a token may be smaller than an earlier token
	Forget  []string // faults after which the store may have lost the last ticks
	Crash   time.Duration
	// Overtaken is how many requests that were sent later may be granted before a waiter. 0 means any number.
	Overtaken int
}

const (
	metaFile   = "run.json"
	auditFile  = "audit.jsonl"
	ledgerFile = "ledger.jsonl"
	logs       = "log-*.jsonl"
)

// LogFile returns the path of a process's log in the folder of a run. The number 0 means the supervisor.
func LogFile(folder string, worker int) string {
	return filepath.Join(folder, fmt.Sprintf("log-%04d.jsonl", worker))
}

// Write writes the history except for the logs, which the processes have written themselves.
func (r *Run) Write(folder string) error {
	text, err := json.MarshalIndent(r.Meta, "", "\t")
	return errors.Join(err,
		os.WriteFile(filepath.Join(folder, metaFile), text, 0o644),
		writeLines(filepath.Join(folder, auditFile), r.Audit),
		writeLines(filepath.Join(folder, ledgerFile), r.Ledger))
}

// Open reads the history of a run.
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
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // an unexpected end of the file means that the process was killed while it wrote
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("%s, line %d: %w", path, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
}
