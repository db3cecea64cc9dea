package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/bench/report"
)

// candidates lists the constructors of rowlock that the figures on the pages compare. The fields store and lock say
// which row of the benchmark's tables contains the figures of a constructor.
var candidates = []struct{ constructor, store, lock string }{
	{"sqllock.Pgx", "postgres", "lease row, pgx"},
	{"sqllock.Postgres", "postgres", "lease row, database/sql"},
	{"sqllock.MySQL", "mysql", "lease row"},
	{"sqllock.MySQL", "mariadb", "lease row"},
	{"sqllock.SQLite", "sqlite", "lease row"},
	{"advisory.New", "postgres", "advisory, pgx"},
	{"advisory.NewDB", "postgres", "advisory, database/sql"},
	{"mysqlock.New", "mysql", "GET_LOCK"},
	{"mysqlock.New", "mariadb", "GET_LOCK"},
	{"redislock.New", "redis", "one server"},
	{"redislock.New", "redis-durable", "one server"},
	{"redlock.New", "redlock", "Redlock"},
	{"etcdlock.New", "etcd", "etcd"},
	{"etcdlock.New", "etcd3", "etcd"},
	{"zklock.New", "zookeeper", "ZooKeeper"},
	{"zklock.New", "zookeeper3", "ZooKeeper"},
}

// compared lists the libraries that docs/comparison.md compares with rowlock, by store.
// The field library is the name on that page.
var compared = []struct{ library, store, lock string }{
	{"rowlock, `sqllock.Pgx`", "postgres", "lease row, pgx"},
	{"rowlock, `advisory.New`", "postgres", "advisory, pgx"},
	{"pglock, polls every second", "postgres", "pglock, every second"},
	{"goose, table locker, polls every 100 ms", "postgres", "goose's table lock, every 100 ms"},
	{"goose, session locker, polls every second", "postgres", "goose's session lock, every second"},
	{"rowlock, `redislock.New`", "redis", "one server"},
	{"bsm/redislock, polls every 100 ms", "redis", "bsm/redislock, every 100 ms"},
	{"redsync, polls every 50 to 250 ms", "redis", "redsync, every 50 to 250 ms"},
	{"rowlock, `redlock.New`", "redlock", "Redlock"},
	{"redsync, polls every 50 to 250 ms", "redlock", "redsync, every 50 to 250 ms"},
	{"rowlock, `etcdlock.New`", "etcd", "etcd"},
	{"etcd's concurrency.Mutex", "etcd", "concurrency.Mutex, a session each"},
}

// marked matches the places where a page contains figures. A comment marks such a place, and says what the table
// contains. If the comment lists constructors of backends, the table has their rows. If the comment says "all", the
// table has the rows of all backends. If the comment says "peers", the table compares rowlock with other libraries.
var marked = regexp.MustCompile(`(?s)(<!-- figures: ([^>]*) -->\n).*?(<!-- end of figures -->)`)

// withFigures returns the text of a page with the figures from the tables in the folder.
func withFigures(folder, page string) (string, error) {
	tables := map[string]report.Table{}
	for _, name := range []string{"cycle", "handover", "death"} {
		t, err := report.Load(folder, name)
		if err != nil {
			return "", err
		}
		tables[name] = t
	}
	return marked.ReplaceAllStringFunc(page, func(s string) string {
		m := marked.FindStringSubmatch(s)
		table := figures(tables, strings.Split(m[2], ", "))
		if m[2] == "peers" {
			table = comparison(tables)
		}
		return m[1] + "\n" + table + "\n" + m[3]
	}), nil
}

func figures(tables map[string]report.Table, wanted []string) string {
	var b strings.Builder
	b.WriteString("| | in | acquire and release | of the baseline | hand-over, 8 processes | free after a kill, TTL 3 s |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, c := range candidates {
		if wanted[0] != "all" && !slices.Contains(wanted, c.constructor) {
			continue
		}
		l := lookup{tables, c.store, c.lock}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.constructor, l.title(), strings.Join([]string{
			l.find("cycle", anyRow, "p50_us", report.Micros), l.find("cycle", anyRow, "ratio", report.Share),
			l.find("handover", eightProcesses, "p50_us", report.Micros), l.find("death", anyRow, "killed_next_ms", millis),
		}, " | "))
	}
	return b.String()
}

// comparison returns the table that compares rowlock with other libraries.
func comparison(tables map[string]report.Table) string {
	var b strings.Builder
	b.WriteString("| | in | acquire and release | hand-overs per second, 8 processes | holder cut off: notified after | the next acquires after |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, c := range compared {
		l := lookup{tables, c.store, c.lock}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.library, l.title(), strings.Join([]string{
			l.find("cycle", anyRow, "p50_us", report.Micros), l.find("handover", eightProcesses, "per_s", perSecond),
			l.find("death", anyRow, "cut_lost_ms", millis), l.find("death", anyRow, "cut_next_ms", millis),
		}, " | "))
	}
	return b.String()
}

// lookup names one lock in one store, to find its figures in the tables.
type lookup struct {
	tables      map[string]report.Table
	store, lock string
}

func anyRow(report.Row) bool           { return true }
func eightProcesses(r report.Row) bool { return r.Contenders == 8 && r.Processes == 8 }
func perSecond(v float64) string       { return fmt.Sprintf("%.0f", v) }

// title returns the display name of the store.
func (l lookup) title() string {
	for _, s := range l.tables["cycle"].Sections {
		if s.Store == l.store {
			return s.Title
		}
	}
	return l.store
}

// find returns a figure of a table as text, or a dash if the figure was not measured.
func (l lookup) find(table string, of func(report.Row) bool, key string, words func(float64) string) string {
	for _, s := range l.tables[table].Sections {
		if s.Store != l.store {
			continue
		}
		for _, r := range s.Rows {
			if v, ok := r.Figures[key]; ok && r.Kind != report.Floor && r.Lock == l.lock && of(r) {
				return words(v)
			}
		}
	}
	return "–"
}

// pagesWithFigures returns the project's pages that contain figures.
func pagesWithFigures(root string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if marked.Match(text) {
			pages[path] = string(text)
		}
	}
	return pages, nil
}

// renew writes the figures from the folder into the pages.
func renew(root, folder string) error {
	pages, err := pagesWithFigures(root)
	if err != nil {
		return err
	}
	for path, old := range pages {
		text, err := withFigures(folder, old)
		if err != nil {
			return err
		}
		if text != old {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
