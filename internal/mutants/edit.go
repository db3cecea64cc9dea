package main

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// edit replaces some words of one Go function, or of one SQL or Lua file.
type edit struct {
	folder   string // the folder of the function's package, from the root of the module
	function string // the function's name; for a method with its type: Lease.confirm
	file     string // instead of folder and function: the path of an SQL or Lua file, from the root of the module
	// the words to replace, which must occur exactly once in the function or file; white space and comments are ignored
	old, new string
	imports  []string
}

// The function in returns an edit of the body of a function. The parameter imports lists packages that the new words
// need.
func in(folder, function, old, new string, imports ...string) []edit {
	return []edit{{folder: folder, function: function, old: old, new: new, imports: imports}}
}

// The function file returns an edit of an SQL or Lua file.
func file(path, old, new string) []edit { return []edit{{file: path, old: old, new: new}} }

// The function both joins the edits of one mutant into one list.
func both(edits ...[]edit) []edit { return slices.Concat(edits...) }

// String returns the name of the function or the path of the file.
func (e edit) String() string {
	switch e.folder {
	case "":
		return e.file
	case ".":
		return e.function
	default:
		return e.folder + "." + e.function
	}
}

// apply makes the edit in the parameter texts, which maps paths to changed files. It adds the file if it is not there
// yet.
func (e edit) apply(texts map[string][]byte) error {
	if e.file != "" {
		text, err := read(e.file, texts)
		if err != nil {
			return err
		}
		at, err := e.find(wordsOfSQL(string(text)), wordsOfSQL(e.old))
		if err == nil {
			texts[e.file] = replace(text, at, e.new)
		}
		return err
	}
	path, parsed, body, err := e.body(texts)
	if err != nil {
		return err
	}
	text, err := read(path, texts)
	if err != nil {
		return err
	}
	at, err := e.find(wordsOfGo(string(text[body.from:body.to])), wordsOfGo(e.old))
	if err != nil {
		return err
	}
	at.from, at.to = at.from+body.from, at.to+body.from
	name := int(parsed.Name.End() - parsed.FileStart)
	texts[path] = replace(replace(text, at, e.new), span{name, name}, e.imported(parsed))
	return nil
}

// find returns where the words in the parameter old begin and end. They must occur exactly once in the parameter
// words.
func (e edit) find(words, old []word) (at span, err error) {
	found := 0
	for i := range words {
		if len(old) > 0 && i+len(old) <= len(words) && slices.EqualFunc(old, words[i:i+len(old)], word.same) {
			at = span{words[i].from, words[i+len(old)-1].to}
			found++
		}
	}
	switch found {
	case 0:
		return span{}, fmt.Errorf("%s no longer contains the words to replace: %s", e, e.old)
	case 1:
		return at, nil
	default:
		return span{}, fmt.Errorf("%s contains the words to replace %d times instead of once: %s", e, found, e.old)
	}
}

// body returns the file and the body of the function. It looks in the files of the package that are built
// on this system.
func (e edit) body(texts map[string][]byte) (path string, parsed *ast.File, body span, err error) {
	pkg, err := gobuild.ImportDir(e.folder, 0)
	if err != nil {
		return "", nil, span{}, fmt.Errorf("%s: %w", e, err)
	}
	for _, file := range pkg.GoFiles {
		path := filepath.Join(e.folder, file)
		text, err := read(path, texts)
		if err != nil {
			return "", nil, span{}, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, span{}, err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && nameOf(f) == e.function {
				return path, parsed, span{int(f.Body.Pos() - parsed.FileStart), int(f.Body.End() - parsed.FileStart)}, nil
			}
		}
	}
	return "", nil, span{}, fmt.Errorf("there is no function %s, which should have the words to replace: %s", e, e.old)
}

// nameOf returns the name of a function, or the type and the name of a method, as in Lease.confirm.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr: // a type parameter
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// imported returns import declarations for the packages that the file does not import yet. The import declarations are
// put on the line of the package clause, so that no line number changes.
func (e edit) imported(parsed *ast.File) string {
	var b strings.Builder
	for _, path := range e.imports {
		quoted := strconv.Quote(path)
		if !slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == quoted }) {
			b.WriteString("; import " + quoted)
		}
	}
	return b.String()
}

// read returns the text of a file. If an earlier edit has changed the file, it returns the changed text from the
// parameter texts. Otherwise it reads the file from the disk.
func read(path string, texts map[string][]byte) ([]byte, error) {
	if text, ok := texts[path]; ok {
		return text, nil
	}
	return os.ReadFile(path)
}

func replace(text []byte, at span, by string) []byte {
	return slices.Concat(text[:at.from], []byte(by), text[at.to:])
}
