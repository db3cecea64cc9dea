package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/docs"
)

// imported lists the packages that code on the pages may use. A block that is a whole file has its own imports,
// which must be in this list.
var imported = strings.Fields(`
	context crypto/tls crypto/x509 database/sql embed errors fmt io/fs log log/slog net net/http os os/signal strings sync syscall time testing
	github.com/go-sql-driver/mysql github.com/jackc/pgx/v5 github.com/jackc/pgx/v5/pgxpool github.com/jackc/pgx/v5/stdlib
	github.com/redis/go-redis/v9 go.etcd.io/etcd/client/v3 github.com/go-zookeeper/zk modernc.org/sqlite
	github.com/pressly/goose/v3 golang.org/x/sync/errgroup
	github.com/rowlock/rowlock github.com/rowlock/rowlock/driver github.com/rowlock/rowlock/fence
	github.com/rowlock/rowlock/memlock github.com/rowlock/rowlock/migrations github.com/rowlock/rowlock/sqllock
	github.com/rowlock/rowlock/advisory github.com/rowlock/rowlock/mysqlock github.com/rowlock/rowlock/otellock
	github.com/rowlock/rowlock/kvlock/redislock github.com/rowlock/rowlock/kvlock/redlock github.com/rowlock/rowlock/kvlock/etcdlock github.com/rowlock/rowlock/kvlock/zklock`)

// given declares the names that code on the pages uses without declaring them.
const given = `
	ctx context.Context
	err error
	dsn, password string
	servers []string
	db *sql.DB
	tx *sql.Tx
	pool *pgxpool.Pool
	cli *clientv3.Client
	one, two, three *redis.Client
	roots *x509.CertPool
	own tls.Certificate
	locker *rowlock.Locker
	lease *rowlock.Lease
	guard *fence.Guard
	files fs.FS
	work func(context.Context, *rowlock.Lease) error
	report func(context.Context, rowlock.Token) error
	old func(context.Context, string, func(context.Context) error) error
	logger *slog.Logger
	must func(error)
`

// givenOn declares names for single pages. For instance, the type of the variable client depends on the page.
var givenOn = map[string]string{
	"docs/redis.md": "client *redis.Client",
	"docs/etcd.md":  "client *clientv3.Client",
}

// Every block of Go on a page compiles. If a block is part of an example, the tests of that example compile it. This
// test compiles all other blocks. It compiles a whole file as it is, and any other block as the body of a function. An
// ellipsis in a block marks omitted code.
func TestGoIsCompiled(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	for path, text := range sources(t, ".go") {
		if strings.Contains(path, "/examples/") || strings.Contains(path, "example") {
			shown.WriteString(text)
		}
	}
	compiler := newCompiler(t)
	programs := map[string][]docs.Block{} // the whole files of one page, which are one program
	for _, b := range blocks(t, "go") {
		switch {
		case strings.Contains(shown.String(), b.Text):
		case b.File() != "":
			programs[b.Page] = append(programs[b.Page], b)
		default:
			assert.NoError(t, compiler.check(b), b.String())
		}
	}
	for page, files := range programs {
		assert.NoError(t, compiler.check(files...), page)
	}
}

// Every block of Go in docs/backend.md, which explains how to build a backend, is a part of the tested backend
// in examples.
func TestTheBackendPageShowsTheBackend(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for path, text := range sources(t, ".go") {
		if strings.Contains(path, "/examples/backend/") {
			source.WriteString(text)
		}
	}
	shown := 0
	for _, b := range blocks(t, "go") {
		if b.Page == "docs/backend.md" {
			shown++
			assert.Contains(t, source.String(), b.Text, b.String())
		}
	}
	require.NotZero(t, shown)
}

// TestGoIsCompiled would detect a block that does not compile: its compiler returns an error.
func TestGoThatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	compiler := newCompiler(t)
	for text, right := range map[string]bool{
		"lease, err := locker.Acquire(ctx, \"a\")\n…\nreturn lease.Release(ctx)\n": true,
		"lease, err := locker.Acquire(\"a\")\n":                                    false,
		"lease, err := locker.Lock(ctx, \"a\")\n":                                  false,
		"lease err := locker\n":                                                    false,
		"package main\n\nfunc main() { rowlock.New() }\n":                          false,
		"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n":       true,
	} {
		err := compiler.check(docs.Block{Page: "a.md", Line: 1, Language: "go", Text: text})
		assert.Equal(t, right, err == nil, "%s\n%v", text, err)
	}
}

// compiler type-checks code. It uses the packages that the go command has built.
type compiler struct {
	files *token.FileSet
	types types.Importer
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	exports, err := exported()
	require.NoError(t, err)
	fset := token.NewFileSet()
	return &compiler{fset, importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no page may import %s: go_test.go does not list it", path)
		}
		return os.Open(exports[path])
	})}
}

// The function exported returns a map from each package to the path of the file with the package's export data.
var exported = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, imported...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(output)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports, nil
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
})

// check compiles whole files as one package, or a single block of statements.
func (c *compiler) check(blocks ...docs.Block) error {
	var files []*ast.File
	whole := true
	for _, b := range blocks {
		text := fmt.Sprintf("//line %s:%d\n%s", b.Page, b.Line, elided(b.Text))
		if whole = b.File() != "" || strings.HasPrefix(b.Text, "package "); !whole {
			text = "package page\n" + imports() + "var (\n" + given + givenOn[b.Page] + "\n)\n" +
				"func _() error {\n" + text + "\npanic(0)\n}\n"
		}
		file, err := parser.ParseFile(c.files, "", text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var errs []error
	config := types.Config{Importer: c.types, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && (!e.Soft || whole) { // a soft error: a variable or an import is not used
			errs = append(errs, err)
		}
	}}
	_, _ = config.Check("page", c.files, files, nil)
	return errors.Join(errs...)
}

func imports() string {
	var b strings.Builder
	b.WriteString("import (\n")
	for _, path := range imported {
		if path == "embed" {
			b.WriteString("_ ")
		}
		if path == "go.etcd.io/etcd/client/v3" {
			b.WriteString("clientv3 ")
		}
		b.WriteString(strconv.Quote(path) + "\n")
	}
	return b.String() + ")\n"
}

// The function elided returns the text with a statement in place of each ellipsis, except in comments and strings.
func elided(text string) string {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", -1, len(text)), []byte(text), nil, 0)
	var b strings.Builder
	last := 0
	for {
		at, kind, literal := s.Scan()
		offset := files.Position(at).Offset
		switch {
		case kind == token.EOF:
			return b.String() + text[last:]
		case kind == token.ILLEGAL && literal == "…":
			b.WriteString(text[last:offset] + `panic("…")`)
			last = offset + len(literal)
		}
	}
}
