package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// bench runs the measurements, and has the settings and servers that they share.
type bench struct {
	plan  plan
	world *world
	began time.Time
	few   chan struct{} // limits how many death measurements run at the same time
}

func (b *bench) log(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1f s  "+format+"\n", append([]any{time.Since(b.began).Seconds()}, args...)...)
}

// counted returns the addresses of servers that count the requests they receive. If the usual servers of store s do not
// count requests, it returns the addresses of other servers.
func (b *bench) counted(ctx context.Context, s store) ([]string, error) {
	if s.serveCounted != nil {
		s.serve = s.serveCounted
	}
	return b.world.ready(ctx, s)
}

// section runs the measurement of table t for store s. It returns the section of the report that shows the results.
func (b *bench) section(ctx context.Context, t table, s store) (report.Section, error) {
	b.log("%s: %s", t.name, s.title)
	began, load := time.Now(), loadAverage()
	rows, err := t.measure(b, ctx, s)
	if err != nil {
		return report.Section{}, fmt.Errorf("%s of %s: %w", t.name, s.title, err)
	}
	return report.Section{
		Store: s.id, Title: s.title, Measured: began.UTC().Truncate(time.Second), How: t.how(b.plan), Quick: b.plan.quick,
		Machine: machine(), Load: load, Versions: b.versions(ctx, s), Rows: rows,
	}, nil
}

func (b *bench) versions(ctx context.Context, s store) map[string]string {
	found := map[string]string{}
	if at, err := b.world.ready(ctx, s); err == nil {
		if v, err := s.version(ctx, at); err == nil {
			found[s.product] = v
		}
	}
	info, ok := debug.ReadBuildInfo()
	for _, m := range s.modules {
		for _, d := range info.Deps {
			if ok && d.Path == m {
				found[strings.TrimPrefix(m, "github.com/")] = strings.TrimPrefix(d.Version, "v")
			}
		}
	}
	return found
}

func machine() string {
	return fmt.Sprintf("%d cores%s, %s, %s/%s", runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// loadAverage returns the load average of the last minute, or 0 if the system does not report one.
func loadAverage() (load float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &load)
	}
	return load
}

// processor returns the model of the processor, if the system reports one.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return " of " + strings.TrimSpace(value)
		}
	}
	return ""
}
