// Command matrix runs the conformance suite of every backend on every server release that is available
// on this machine. The command writes the table of docs/compatibility.md:
//
// make compat
//
// The table also has a row for each release that is not available, with the reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() { os.Exit(run()) }

func run() int {
	only := flag.String("only", "", "test only the servers whose name and version contain this text; the page is then not changed")
	share := flag.String("share", "", "test only one of several shares of the servers, such as 2/3; the page is then not changed")
	page := flag.String("page", "", "write the table into this file, between its two marks")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	folder, err := os.MkdirTemp("", "rowlock-matrix-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		return 1
	}
	defer os.RemoveAll(folder)
	part, of := 1, 1
	if *share != "" {
		if n, err := fmt.Sscanf(*share, "%d/%d", &part, &of); n != 2 || err != nil || part < 1 || part > of {
			fmt.Fprintf(os.Stderr, "matrix: -share=%s: write a share such as 2/3\n", *share)
			return 2
		}
	}
	suites := &suites{folder: folder, built: map[string]string{}}
	var chosen []server
	for i, s := range servers {
		if strings.Contains(s.name+" "+s.version, *only) && i%of == part-1 {
			chosen = append(chosen, s)
		}
	}
	good := true
	var lines []string
	for _, rows := range inTurn(chosen, func(s server) []result { return s.run(ctx, suites) }) {
		for _, r := range rows {
			good = good && r.failed == 0 && (r.problem == "" || r.absent)
			lines = append(lines, r.String())
		}
	}
	if *page != "" && *only == "" && of == 1 {
		if err := write(*page, lines); err != nil {
			fmt.Fprintln(os.Stderr, "matrix:", err)
			return 1
		}
	}
	if !good {
		return 1
	}
	return 0
}

// together is how many servers are tested at the same time. Their tests mostly wait.
const together = 2

// inTurn calls the function test for each server, for several at the same time, and prints the rows of each as soon as
// they are there. It returns them in the order of the servers.
func inTurn(all []server, test func(server) []result) [][]result {
	rows := make([][]result, len(all))
	places := make(chan struct{}, together)
	var group sync.WaitGroup
	var printing sync.Mutex
	for i, s := range all {
		places <- struct{}{}
		group.Go(func() {
			rows[i] = test(s)
			<-places
			printing.Lock()
			defer printing.Unlock()
			for _, r := range rows[i] {
				fmt.Println(r)
			}
		})
	}
	group.Wait()
	return rows
}

// These two lines of the page enclose the table.
const begin, end = "<!-- make compat: begin -->", "<!-- end -->"

func write(page string, lines []string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q", filepath.Base(page), begin, end)
	}
	table := fmt.Sprintf("\n%s, by `make compat`:\n\n%s\n%s\n", time.Now().Format("January 2006"), header, strings.Join(lines, "\n"))
	return os.WriteFile(page, []byte(before+begin+table+end+after), 0o644)
}
