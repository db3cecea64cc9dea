package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

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

// confusions maps a function or a constant to the one that replaces it. The outcomes of requests are among them, because
// a lock depends on telling them apart.
var confusions = map[string][]string{
	"min": {"max"}, "max": {"min"},
	"driver.Unknown": {"driver.Renewed", "driver.Lost"}, "driver.Lost": {"driver.Renewed", "driver.Unknown"},
	"ErrUnavailable": {"ErrHeld"}, "ErrHeld": {"ErrUnavailable"},
}

// generator collects the changes of one file.
type generator struct {
	text     string
	set      *token.FileSet
	place    string
	function [2]int
	all      []change
}

// changesOfGo returns all changes that it can make in the text of a Go file. Some of the changed texts do not compile.
func changesOfGo(_, text string) ([]change, error) {
	g := &generator{text: text, set: token.NewFileSet()}
	parsed, err := parser.ParseFile(g.set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.place, g.function = d.Name.Name, [2]int{g.set.Position(d.Pos()).Line, g.set.Position(d.End()).Line}
			if d.Recv != nil {
				g.place = g.head(d.Recv.List[0].Type) + "." + g.place
			}
			ast.Inspect(d, g.visit)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					g.place, g.function = v.Names[0].Name, [2]int{}
					ast.Inspect(v, g.visit)
				}
			}
		}
	}
	return g.all, nil
}

// first matches the name that stands for an expression in an identity: the called function, or the first variable or
// field, without the path to it.
var first = regexp.MustCompile(`^\W*(?:(?:len|min|max)\()?\W*(?:\w+(?:\(\)|\[\w+\])?\.)*(\w+)`)

// variable matches a variable or a field.
var variable = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.\w+)*$`)

func (g *generator) head(e ast.Node) string {
	if found := first.FindStringSubmatch(g.source(e)); found != nil {
		return found[1]
	}
	return ""
}

func (g *generator) heads(list []ast.Expr) string {
	var names []string
	for _, e := range list {
		names = append(names, g.head(e))
	}
	return strings.Join(names, ", ")
}

func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if !isText(n.X) && !isText(n.Y) {
			g.swap(g.head(n)+" ", n.OpPos, n.Op)
		}
		if n.Op == token.LAND || n.Op == token.LOR {
			g.drop(n.X, n.Op)
			g.drop(n.Y, n.Op)
		}
	case *ast.IncDecStmt:
		g.swap(g.head(n.X), n.TokPos, n.Tok)
	case *ast.AssignStmt:
		g.swap(g.heads(n.Lhs)+" ", n.TokPos, n.Tok)
	case *ast.CallExpr:
		g.call(n)
	case *ast.Ident:
		g.confuse(n)
	case *ast.SelectorExpr:
		g.confuse(n)
		_, deeper := n.X.(*ast.Ident)
		return !deeper
	case *ast.IfStmt:
		g.force("if", n.Cond)
		if n.Init != nil {
			g.remove([]ast.Stmt{n.Init})
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					g.force("case", e)
				}
			}
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

func (g *generator) swap(of string, at token.Pos, op token.Token) {
	for _, by := range swaps[op] {
		g.add(of+op.String()+" -> "+by.String(), at, at+token.Pos(len(op.String())), by.String())
	}
}

// The method drop adds a change in which an operand of && or || no longer counts. The operand stays in the text, so that
// its variables are used. A chain of one operator has a change for each of its operands.
func (g *generator) drop(operand ast.Expr, op token.Token) {
	if b, ok := operand.(*ast.BinaryExpr); ok && b.Op == op {
		return
	}
	g.replace("drop term "+g.head(operand), operand, map[bool]string{true: "(true || ", false: "(false && "}[op == token.LAND]+g.source(operand)+")")
}

// The method force adds two changes, which make a condition always true or always false.
func (g *generator) force(what string, cond ast.Expr) {
	what += " " + g.head(cond)
	g.replace(what+" -> true", cond, "true || ("+g.source(cond)+")")
	g.replace(what+" -> false", cond, "false && ("+g.source(cond)+")")
}

// The method call adds changes to the arguments of a call: two neighbours change places, or a request stops when
// the caller's context ends.
func (g *generator) call(n *ast.CallExpr) {
	for i := 1; i < len(n.Args); i++ {
		a, b := n.Args[i-1], n.Args[i]
		if variable.MatchString(g.source(a)) && variable.MatchString(g.source(b)) && g.source(a) != g.source(b) {
			g.add("swap "+g.head(a)+" and "+g.head(b)+" of "+g.head(n.Fun), a.Pos(), b.End(), g.source(b)+", "+g.source(a))
		}
	}
	if g.source(n.Fun) == "context.WithoutCancel" {
		g.replace("drop WithoutCancel", n, g.source(n.Args[0]))
	}
}

func (g *generator) confuse(e ast.Expr) {
	for _, by := range confusions[g.source(e)] {
		g.replace(g.source(e)+" -> "+by, e, by)
	}
}

// The method remove adds changes. Each of them deletes a statement, such as a call or an assignment.
func (g *generator) remove(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			call, called := s.Rhs[0].(*ast.CallExpr)
			switch names := g.heads(s.Lhs); {
			case s.Tok == token.DEFINE:
			case strings.Trim(names, "_, ") != "":
				g.replace("drop "+names+" "+s.Tok.String(), s, "")
			case called:
				g.replace("drop call "+g.head(call), s, "")
			}
		case *ast.ExprStmt:
			g.replace("drop call "+g.head(s.X), s, "")
		case *ast.IncDecStmt:
			g.replace("drop "+g.head(s.X)+s.Tok.String(), s, "")
		case *ast.DeferStmt:
			g.replace("drop defer "+g.head(s.Call), s, "")
		case *ast.GoStmt:
			g.replace("drop go "+g.head(s.Call), s, "")
		case *ast.SendStmt:
			g.replace("drop send to "+g.head(s.Chan), s, "")
		}
	}
}

// The method returns adds changes to return statements: they return nil instead of an error, or always the same bool.
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
			g.replace("return "+g.head(last)+" -> nil", last, "nil")
		case kind == "bool" && text == "true":
			g.replace("return true -> false", last, "false")
		case kind == "bool" && text == "false":
			g.replace("return false -> true", last, "true")
		case kind == "bool":
			g.force("return", last)
		}
		return true
	})
}

func (g *generator) replace(kind string, n ast.Node, by string) { g.add(kind, n.Pos(), n.End(), by) }

func (g *generator) add(kind string, from, to token.Pos, by string) {
	at, end := g.set.Position(from), g.set.Position(to)
	g.all = append(g.all, change{
		place: g.place, kind: kind, start: at.Offset, end: end.Offset, new: by, at: [2]int{at.Line, at.Column}, function: g.function,
	})
}

func (g *generator) source(n ast.Node) string {
	return g.text[g.set.Position(n.Pos()).Offset:g.set.Position(n.End()).Offset]
}
