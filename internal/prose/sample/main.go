// Command sample draws sentences of the project at random, for a reader who has not seen it: which of them need a second reading?
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/rowlock/rowlock/internal/prose"
)

func main() {
	count := flag.Int("n", 200, "how many sentences to draw")
	seed := flag.Uint64("seed", 1, "what decides which ones")
	flag.Parse()
	sentences, err := drawable(".")
	if err != nil {
		log.Fatal(err)
	}
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(sentences), func(i, j int) { sentences[i], sentences[j] = sentences[j], sentences[i] })
	for i, s := range sentences[:min(*count, len(sentences))] {
		fmt.Printf("%d. %s:%d (%s)\n   %s\n", i+1, s.File, s.Line, s.Kind, s.Text)
		if s.Passage.Text != s.Text {
			fmt.Printf("   in: %s\n", s.Passage.Text)
		}
		if at := code(s); at != "" {
			fmt.Printf("   at: %s\n", at)
		}
	}
}

// code returns the line of code that a comment or a message of Go, SQL or Lua stands at, or "". Above code,
// that is the line after the comment.
func code(s prose.Sentence) string {
	if s.Kind == prose.Page {
		return ""
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(text), "\n")[s.Line-1:] {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "--") {
			return line
		}
	}
	return ""
}

// drawable are the sentences of pages, comments and messages. It leaves out texts in tests, their expected
// output, and sentences of up to three words.
func drawable(root string) ([]prose.Sentence, error) {
	passages, err := prose.Project(root)
	if err != nil {
		return nil, err
	}
	var found []prose.Sentence
	for _, p := range passages {
		if p.Kind == prose.Table || strings.HasSuffix(p.File, "_test.go") && (p.Kind == prose.Message || strings.HasPrefix(p.Text, "Output:")) {
			continue
		}
		for _, s := range p.Sentences() {
			if s.Words() > 3 {
				found = append(found, s)
			}
		}
	}
	return found, nil
}
