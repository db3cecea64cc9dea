//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// BenchmarkStart measures "rowlock run" of a command that does nothing, on the default file and on PostgreSQL, beside
// flock. The variants alternate, so that load on the machine slows all of them equally. The figures are medians in
// milliseconds. The test binary takes the place of rowlock, and is about as large.
func BenchmarkStart(b *testing.B) {
	w := newWorkplace(b)
	variants := map[string][]string{
		"file":     {"rowlock", "run", "job", "--store", "local", "--", "true"},
		"postgres": {"rowlock", "run", "job", "--store", migrated(b, w, testenv.Postgres(b)), "--", "true"},
		"version":  {"rowlock", "version"},
	}
	if _, err := exec.LookPath("flock"); err == nil {
		variants["flock"] = []string{"flock", filepath.Join(w.dir, "flock"), "true"}
	}
	took := map[string][]float64{}
	for b.Loop() {
		for name, words := range variants {
			cmd := w.command(b, scriptTimeout, words[0], words[1:]...)
			began := time.Now()
			output, err := cmd.CombinedOutput()
			took[name] = append(took[name], float64(time.Since(began).Microseconds())/1000)
			require.NoError(b, err, "%s", output)
		}
	}
	for name, figures := range took {
		slices.Sort(figures)
		b.ReportMetric(figures[len(figures)/2], name+"-ms")
	}
}
