package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
)

// change is a generated defect. It replaces the bytes of the file from the offset start to the offset end.
type change struct {
	file       string
	at         token.Position // of start
	start, end int
	old, new   string
	function   [2]int // the first and the last line of the surrounding function; zero outside of functions
}

func (c change) String() string {
	if c.new == "" {
		return fmt.Sprintf("%s:%d: without `%s`", c.file, c.at.Line, line(c.old))
	}
	return fmt.Sprintf("%s:%d: `%s` becomes `%s`", c.file, c.at.Line, line(c.old), line(c.new))
}

// line returns text on one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

func (c change) mutated() (map[string][]byte, error) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{c.file: []byte(string(text[:c.start]) + c.new + string(text[c.end:]))}, nil
}

// swaps maps an operator to the operators that replace it.
var swaps = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
}

// generator collects the changes of one file.
type generator struct {
	file     string
	text     string
	set      *token.FileSet
	function [2]int
	all      []change
}

// generate returns all changes that it can make in a file. Some of the changed files do not compile.
func generate(file string) ([]change, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	g := &generator{file: file, text: string(text), set: token.NewFileSet()}
	parsed, err := parser.ParseFile(g.set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		g.function = [2]int{}
		if f, ok := d.(*ast.FuncDecl); ok {
			g.function = [2]int{g.set.Position(f.Pos()).Line, g.set.Position(f.End()).Line}
		}
		ast.Inspect(d, g.visit)
	}
	return g.all, nil
}

func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.StarExpr:
		return false
	case *ast.BinaryExpr:
		if !isText(n.X) && !isText(n.Y) {
			g.swap(n.OpPos, n.Op)
		}
	case *ast.IncDecStmt:
		g.swap(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		g.swap(n.TokPos, n.Tok)
	case *ast.IfStmt:
		if b, ok := n.Cond.(*ast.BinaryExpr); !ok || b.Op == token.LAND || b.Op == token.LOR {
			g.replace(n.Cond, "!("+g.source(n.Cond)+")")
		}
	case *ast.BlockStmt:
		g.remove(n.List)
	case *ast.CaseClause:
		g.remove(n.Body)
	case *ast.CommClause:
		g.remove(n.Body)
	case *ast.FuncDecl:
		g.returns(n.Type, n.Body)
	case *ast.FuncLit:
		g.returns(n.Type, n.Body)
	}
	return true
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

func (g *generator) swap(at token.Pos, op token.Token) {
	for _, by := range swaps[op] {
		g.add(at, at+token.Pos(len(op.String())), by.String())
	}
}

// The method remove adds changes. Each of them deletes a statement, such as a call or an assignment.
func (g *generator) remove(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && g.source(s.Lhs[0]) != "_" {
				g.replace(s, "")
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
			g.replace(s, "")
		}
	}
}

// The method returns adds changes to return statements: they return nil instead of an error, or the opposite of a
// bool.
func (g *generator) returns(signature *ast.FuncType, body *ast.BlockStmt) {
	if body == nil || signature.Results == nil {
		return
	}
	fields := signature.Results.List
	kind := g.source(fields[len(fields)-1].Type)
	ast.Inspect(body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		r, ok := n.(*ast.ReturnStmt)
		if !ok || len(r.Results) != signature.Results.NumFields() {
			return true
		}
		last := r.Results[len(r.Results)-1]
		switch text := g.source(last); {
		case kind == "error" && text != "nil":
			g.replace(last, "nil")
		case kind == "bool" && text == "true":
			g.replace(last, "false")
		case kind == "bool" && text == "false":
			g.replace(last, "true")
		case kind == "bool":
			g.replace(last, "!("+text+")")
		}
		return true
	})
}

func (g *generator) replace(n ast.Node, by string) { g.add(n.Pos(), n.End(), by) }

func (g *generator) add(from, to token.Pos, by string) {
	at, end := g.set.Position(from), g.set.Position(to)
	g.all = append(g.all, change{g.file, at, at.Offset, end.Offset, g.text[at.Offset:end.Offset], by, g.function})
}

func (g *generator) source(n ast.Node) string {
	return g.text[g.set.Position(n.Pos()).Offset:g.set.Position(n.End()).Offset]
}
