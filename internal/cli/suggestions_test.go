package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// If a text contains a rowlock command line, that command exists, and has the options that the text names.
func TestSuggestedCommandsExist(t *testing.T) {
	t.Parallel()
	all := commands(t)
	all["help exit-codes"] = all["help"]
	prose := map[string]bool{ // words after "rowlock" that do not name a subcommand: words of sentences, and names of rowlock's keys in databases
		"does": true, "or": true, "itself": true, "is": true, "was": true, "has": true, "had": true, "did": true, "runs": true, "waits": true, "while": true,
		"advisory": true, "lock": true, "migrations": true, "namespace": true, "resource": true,
		"nonce": true, "idle": true, "promises": true, "renews": true, "releases": true, "stops": true, "trusts": true,
	}
	line := regexp.MustCompile("(?:^|[^a-zA-Z0-9_/.@-])rowlock((?: +(?:[a-z][a-z-]*|--?[a-z][a-z-]*(?:=[^ \"]*)?|[A-Z%][^ ]*))+)")
	found := 0
	texts(t, func(position token.Position, text string) {
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1])
			if first := words[0]; prose[first] || strings.HasPrefix(first, "%") {
				continue
			}
			path := ""
			for len(words) > 0 && all[strings.TrimSpace(path+" "+words[0])] != nil {
				path, words = strings.TrimSpace(path+" "+words[0]), words[1:]
			}
			if path == "help" && len(words) > 0 && words[0] == "exit-codes" {
				path, words = "help exit-codes", words[1:]
			}
			if path == "" && !strings.HasPrefix(words[0], "-") {
				t.Errorf("%s: there is no command %q (a word of a sentence belongs into prose): %s", position, words[0], text)
				continue
			}
			found++
			cmd := all[path]
			cmd.InitDefaultHelpFlag()
			for _, word := range words {
				if word == "--" {
					break
				}
				name, isLong := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(strings.TrimRight(name, ".,;:)\""), "=")
				if isLong && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s: rowlock %s has no option --%s: %s", position, path, name, text)
				}
			}
		}
	})
	t.Logf("%d found", found)
	require.Greater(t, found, 20)
}

// If a text of the command names an option, a subcommand has that option.
func TestSuggestedOptionsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"help": true, "version": true, "single-transaction": true} // the last one is an option of psql
	for _, cmd := range commands(t) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	option := regexp.MustCompile(`(?:^|[ (])--([a-z][a-z-]+)`)
	found := 0
	texts(t, func(position token.Position, text string) {
		if !strings.Contains(filepath.ToSlash(position.Filename), "internal/cli/") || strings.Contains(text, "etcdctl ") {
			return
		}
		for _, m := range option.FindAllStringSubmatch(text, -1) {
			found++
			if !known[m[1]] {
				t.Errorf("%s: no command has the option --%s: %s", position, m[1], text)
			}
		}
	})
	t.Logf("%d found", found)
	require.Greater(t, found, 20)
}

// If a text names a function, type or option of a package of the library, that package exports it.
func TestSuggestedIdentifiersExist(t *testing.T) {
	t.Parallel()
	folders := map[string]string{
		"rowlock": ".", "sqllock": "sqllock", "advisory": "advisory", "mysqlock": "mysqlock", "redislock": "kvlock/redislock", "redlock": "kvlock/redlock",
		"etcdlock": "kvlock/etcdlock", "zklock": "kvlock/zklock", "memlock": "memlock", "fence": "fence", "migrations": "migrations", "driver": "driver",
	}
	known := map[string]map[string]bool{}
	for name, folder := range folders {
		known[name] = exported(t, "../../"+folder)
	}
	selector := regexp.MustCompile(`(?:^|[^a-z/.])([a-z]+)\.([A-Z][A-Za-z]*)`)
	found := 0
	texts(t, func(position token.Position, text string) {
		for _, m := range selector.FindAllStringSubmatch(text, -1) {
			if of := known[m[1]]; of != nil {
				found++
				if !of[m[2]] {
					t.Errorf("%s: %s has no %s: %s", position, m[1], m[2], text)
				}
			}
		}
	})
	t.Logf("%d found", found)
	require.Greater(t, found, 20)
}

// exported returns the names that a package exports. The names of methods are listed without their type.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	paths, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
			return true
		})
	}
	require.NotEmpty(t, names, folder)
	return names
}
