package prose

import (
	"path/filepath"
	"regexp"
)

// rule describes a word or phrase that plain technical English avoids, and what to write instead.
type rule struct {
	pattern *regexp.Regexp
	instead string
}

func avoid(pattern, instead string) rule {
	return rule{regexp.MustCompile(`(?i)` + pattern), instead}
}

// rules lists the words and phrases that no page, comment or message may have.
var rules = []rule{
	avoid(`\bwho(?:m)?ever\b`, "name the actor: holder, waiter, caller, process"),
	avoid(`\b(?:he|him|his|himself)\b`, "a process is \"it\"; a person is \"you\" or \"they\""),
	avoid(`\bin vain\b`, "say what failed"),
	avoid(`\b(?:is|are|was|were|be|been|being) told\b`, "is notified, or \"tells\" with a subject"),
	avoid(`\b(?:let|lets|letting) go\b`, "release"),
	avoid(`\b(?:take|takes|taken|took|taking) back\b`, "release, withdraw"),
	avoid(`\bpass(?:es|ed|ing)? on\b`, "hand over, return"),
	avoid(`\b(?:is|are|was|were|to be|not be) had\b`, "can be acquired, is available"),
	avoid(`\bof (?:no )?use\b`, "useful, or say what fails"),
	avoid(`\b(?:and|or) the like\b`, "name them, or \"similar\""),
	avoid(`\bbut for (?:that|this|the|those|what|a|an)\b`, "except"),
	avoid(`\bask(?:s|ed|ing)? (?:once )?again\b`, "retry"),
	avoid(`\bno more(?:[.,;:)]|$)`, "no longer"),
	avoid(`\bfor ever\b`, "forever, indefinitely"),
	avoid(`\bfor which it is asked\b`, "which it is asked for"),
	avoid(`(?:^|[;.] )(?:so|nor|neither) (?:is|are|do|does|did|was|were|may|can|must|has|have|will|would)\b`, "a sentence with a subject and a verb"),
	avoid(`\b(?:drama|theatre|fate)\b`, "what it is"),
}

// chain is a rule: no sentence may have more than one semicolon. Table cells, messages and the first comments of
// scripts are lists, and may have more.
var chain = avoid(`;[^;]*;`, "one idea a sentence")

// Finding is one match of a rule in a sentence.
type Finding struct {
	Sentence
	Match   string
	Instead string
}

// Check returns the matches of all rules in s. It skips code between backticks.
func Check(s Sentence) []Finding {
	plain := codeSpan.ReplaceAllString(s.Text, "`code`")
	var found []Finding
	for _, r := range rules {
		if match := r.pattern.FindString(plain); match != "" {
			found = append(found, Finding{s, match, r.instead})
		}
	}
	if script := filepath.Ext(s.File) != ".go"; s.Kind == Page || s.Kind == Comment && !script {
		if match := chain.pattern.FindString(plain); match != "" {
			found = append(found, Finding{s, match, chain.instead})
		}
	}
	return found
}
