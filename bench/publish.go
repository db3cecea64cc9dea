package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/rowlock/rowlock/bench/report"
)

//go:embed page.md.tmpl
var page string

// publish writes the page and its charts from the tables in the folder.
func publish(folder string) error {
	found := map[string]report.Table{}
	var all []report.Table
	for _, t := range tables() {
		kept, err := report.Load(folder, t.name)
		if err != nil {
			return err
		}
		slices.SortStableFunc(kept.Sections, func(a, b report.Section) int {
			return slices.Index(t.stores, a.Store) - slices.Index(t.stores, b.Store)
		})
		found[t.name], all = kept, append(all, kept)
	}
	drawn := map[string]string{}
	for _, p := range pictures() {
		svg, ok := p.draw(found[p.table])
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, p.name+".svg"), svg, 0o644); err != nil {
			return err
		}
		drawn[p.name] = fmt.Sprintf("![%s](%s.svg)\n", p.chart.Title, p.name)
	}
	functions := template.FuncMap{
		"machine": func() string { return report.Machines(all) },
		"chart":   func(name string) string { return drawn[name] },
		"table":   func(name string) string { return found[name].Markdown(columnsOf(name)) },
	}
	parsed, err := template.New("page").Funcs(functions).Parse(page)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := parsed.Execute(&text, nil); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte(strings.TrimRight(text.String(), "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if filepath.Clean(folder) != filepath.FromSlash("../docs/benchmarks") {
		return nil // the other pages show only the figures of this folder
	}
	return renew("..", folder)
}

func columnsOf(name string) []report.Column {
	for _, t := range tables() {
		if t.name == name {
			return t.columns
		}
	}
	return nil
}
