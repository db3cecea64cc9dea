// Command sample draws sentences of the project at random, for a reader who has not seen it: which of them need a second reading?
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
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
	}
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
