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

// candidates are what a reader chooses from, and where their figures are.
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
	{"redlock.New", "redlock", "Redlock, TTL 3 s"},
	{"etcdlock.New", "etcd", "etcd"},
	{"etcdlock.New", "etcd3", "etcd"},
	{"zklock.New", "zookeeper", "ZooKeeper"},
	{"zklock.New", "zookeeper3", "ZooKeeper"},
}

// marked is where a page has figures: it names constructors, or all.
var marked = regexp.MustCompile(`(?s)(<!-- figures: ([^>]*) -->\n).*?(<!-- end of figures -->)`)

// withFigures is a page of the project with the figures of the tables in that folder.
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
		return m[1] + "\n" + figures(tables, strings.Split(m[2], ", ")) + "\n" + m[3]
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
		title := c.store
		find := func(table string, of func(report.Row) bool, key string, words func(float64) string) string {
			for _, s := range tables[table].Sections {
				if s.Store != c.store {
					continue
				}
				title = s.Title
				for _, r := range s.Rows {
					if v, ok := r.Figures[key]; ok && r.Kind == report.Rowlock && r.Lock == c.lock && of(r) {
						return words(v)
					}
				}
			}
			return "–"
		}
		any := func(report.Row) bool { return true }
		eight := func(r report.Row) bool { return r.Contenders == 8 && r.Processes == 8 }
		millis := func(v float64) string { return report.Micros(v * 1e3) }
		cells := []string{
			find("cycle", any, "p50_us", report.Micros), find("cycle", any, "ratio", report.Share),
			find("handover", eight, "p50_us", report.Micros), find("death", any, "killed_next_ms", millis),
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.constructor, title, strings.Join(cells, " | "))
	}
	return b.String()
}

// pagesWithFigures are the project's pages that have some.
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

// renew puts the figures of that folder into the pages.
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
