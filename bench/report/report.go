// Package report stores measured figures as JSON for programs. It makes tables and charts of the figures for people.
package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// These are the kinds of locks that a row can be about.
const (
	Floor   = "floor"   // the minimum work of any lock in the same store
	Rowlock = "rowlock" // a lock of rowlock
	Peer    = "peer"    // a lock of another library
)

// Table contains the figures of one kind of measurement, with a section for each store.
type Table struct {
	Name     string
	Sections []Section
}

// Section contains the rows of one store, and how they were measured. Sections may come from different runs
// of the benchmark.
type Section struct {
	Store    string            `json:"store"`
	Title    string            `json:"title"`
	Measured time.Time         `json:"measured"`
	How      string            `json:"how"` // the number and length of the rounds, as text
	Quick    bool              `json:"quick,omitempty"`
	Machine  string            `json:"machine"`
	Load     float64           `json:"load,omitempty"` // load average of the minute before the run, if the system reports one; it shows the other work of the machine
	Versions map[string]string `json:"versions"`       // versions of the server and of the libraries
	Rows     []Row             `json:"-"`
}

// Row contains the figures of one lock. The suffix of a figure's key is its unit: _us, _ms, _bytes, _per_s.
// A figure without such a suffix is a count or a ratio.
type Row struct {
	Lock       string             `json:"lock"`
	Kind       string             `json:"kind"`
	Contenders int                `json:"contenders,omitempty"`
	Processes  int                `json:"processes,omitempty"`
	Figures    map[string]float64 `json:"figures,omitempty"`
	Error      string             `json:"error,omitempty"` // the error, if some or all figures are missing
}

// Load reads a table. If the file does not exist, Load returns an empty table.
func Load(folder, name string) (Table, error) {
	t := Table{Name: name}
	text, err := os.ReadFile(t.path(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	var file struct {
		Sections []struct {
			Section
			Rows []Row `json:"rows"`
		} `json:"sections"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return t, fmt.Errorf("%s: %w", t.path(folder), err)
	}
	for _, s := range file.Sections {
		s.Section.Rows = s.Rows
		t.Sections = append(t.Sections, s.Section)
	}
	return t, nil
}

// Put adds a section, or replaces the section of the same store. Figures are rounded to five digits.
func (t *Table) Put(s Section) {
	for _, r := range s.Rows {
		for key, v := range r.Figures {
			r.Figures[key], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
		}
	}
	if i := slices.IndexFunc(t.Sections, func(old Section) bool { return old.Store == s.Store }); i >= 0 {
		t.Sections[i] = s
		return
	}
	t.Sections = append(t.Sections, s)
}

// Save writes the table as JSON, with one line for each row.
func (t Table) Save(folder string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"table\": %q, \"sections\": [", t.Name)
	for i, s := range t.Sections {
		head, err := json.Marshal(s)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n%s, \"rows\": [", comma(i), bytes.TrimSuffix(head, []byte("}")))
		for j, r := range s.Rows {
			row, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s\n  %s", comma(j), row)
		}
		b.WriteString("\n]}")
	}
	b.WriteString("\n]}\n")
	half := t.path(folder) + ".half"
	if err := os.WriteFile(half, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(half, t.path(folder))
}

func (t Table) path(folder string) string { return filepath.Join(folder, t.Name+".json") }

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
