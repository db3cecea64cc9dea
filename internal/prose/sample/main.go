// Command sample prints random sentences of the project. A reader who has not seen the project can then say
// which of them are hard to understand.
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
	count := flag.Int("n", 200, "how many sentences to print")
	seed := flag.Uint64("seed", 1, "the seed of the random choice")
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

// code returns the line of code to which a comment or a message of Go, SQL or Lua belongs, or an empty text. A comment
// on separate lines belongs to the line after the comment.
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

// drawable returns the sentences that the sample can contain. It leaves out messages in tests, expected output,
// and sentences of up to three words.
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
