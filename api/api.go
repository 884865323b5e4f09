// Package api has the types of declarations, with their defaults and the checks of their fields.
package api

import (
	"cmp"
	"fmt"
	"strings"
)

// GroupVersion is the apiVersion of every declaration. Declarations live in Git and are never installed in a cluster.
const GroupVersion = "linkwright.dev/v1alpha1"

type (
	// ClusterName names a cluster: an RFC 1035 label of at most 52 characters (see CheckClusterName).
	ClusterName string
	// Commit is a full hash, or empty for a tree that does not come from Git.
	Commit string
)

// Short is the abbreviated hash: twelve characters, or "(no commit)".
func (c Commit) Short() string {
	if c == "" {
		return "(no commit)"
	}
	return string(c[:min(12, len(c))])
}

// Pair is one direction: services of Target appear in Source.
type Pair struct{ Source, Target ClusterName }

// String gives source→target.
func (p Pair) String() string { return string(p.Source) + "→" + string(p.Target) }

// Name gives source/target, as commands take and show links.
func (p Pair) Name() string { return string(p.Source) + "/" + string(p.Target) }

// IsZero reports whether this is no pair: the base of a cluster.
func (p Pair) IsZero() bool { return p == Pair{} }

// Compare orders pairs by source, then target.
func (p Pair) Compare(q Pair) int {
	return cmp.Or(cmp.Compare(p.Source, q.Source), cmp.Compare(p.Target, q.Target))
}

// Pos is a position in a file; lines and columns count from 1, 0 is unknown.
type Pos struct {
	File      string
	Line, Col int
}

// String gives file:line:col, leaving out what is unknown.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Problem is one finding about declarations; Hint says what to do, or is empty. See is another place that it is about, as
// the first of two, or zero.
// Code is a machine's word: of a warning the check that gave it, of an error only where a caller tells it from others, else
// empty, which is shown as InvalidDeclarations. Package fleet lists them.
type Problem struct {
	Pos           Pos
	Warning       bool
	Message, Hint string
	Code          string
	See           Pos
}

// String gives one line: pos: [warning: ]message[, see pos] (hint).
func (p Problem) String() string {
	var b strings.Builder
	if at := p.Pos.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	if see := p.See.String(); see != "" {
		b.WriteString(", see " + see)
	}
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// ComparePos orders by file, line and column.
func ComparePos(a, b Pos) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}
