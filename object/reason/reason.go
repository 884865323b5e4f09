// Package reason answers: which reasons are there? Each code of a reason stands in one table, with what it means and what
// to do. The README's table is made of it.
package reason

import "slices"

// Code says why something is as it is, for programs: one CamelCase word, as in the conditions of Kubernetes. People read
// the message beside it.
type Code string

// Entry is a row of the table: codes that mean the same kind of thing.
type Entry struct {
	Codes   []Code
	Meaning string // Markdown, with links from the root of the repository
	Remedy  string // the same; empty: nothing
}

// Table gives the codes of clusters and links, in the order of the README.
func Table() []Entry { return slices.Concat(clusters(), links()) }

// Changes gives the codes that only writes have.
func Changes() []Entry { return changes() }

// Known says that a code stands in a table.
func Known(c Code) bool {
	return slices.ContainsFunc(slices.Concat(Table(), Changes()), func(e Entry) bool { return slices.Contains(e.Codes, c) })
}
