package main

import (
	"strings"
	"testing"
)

// The pages show the figures of the JSON files. "go -C bench run . -render" writes the figures into the pages. The test detects a
// changed figure.
func TestThePagesShowWhatWasMeasured(t *testing.T) {
	pages, err := pagesWithFigures("..")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for path, text := range pages {
		for _, seen := range []string{text, strings.ReplaceAll(text, " µs |", " ns |")} {
			now, err := withFigures("../docs/benchmarks", seen)
			if err != nil {
				t.Fatal(err)
			}
			if now != text {
				t.Errorf("%s is not what was measured: go -C bench run . -render", path)
			}
		}
	}
}

// Every candidate and every compared library has a figure. If somebody renames a row, this test fails, so the row's
// figure cannot disappear unnoticed.
func TestEveryCandidateWasMeasured(t *testing.T) {
	text, err := withFigures("../docs/benchmarks", "<!-- figures: all -->\n<!-- end of figures -->\n<!-- figures: peers -->\n<!-- end of figures -->")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "| – | – | – | – |\n") {
			t.Error(line)
		}
	}
}
