// Package reason has the codes of reasons, in one table with what each means and what to do. The reference page of reasons is
// generated from it.
package reason

import (
	"regexp"
	"slices"
	"strings"
)

// Code is a reason for programs: one CamelCase word, as in the conditions of Kubernetes. A message for people
// comes with it.
type Code string

// Entry is a row of the table.
type Entry struct {
	Code    Code
	Meaning string // Markdown, with links from the root of the repository
	Remedy  string // the same; empty: there is nothing to do
}

// Group are the codes about one subject.
type Group struct {
	Title   string
	Entries []Entry
}

// Table returns the codes of clusters, links and revisions, in the order of the reference page.
func Table() []Group {
	return []Group{reach(), identity(), requests(), linkerd(), credentials(), applying(), removing(), health(), revisions(), rollouts()}
}

// Writes returns the codes that only writes have.
func Writes() Group { return writes() }

// All returns every entry of every group.
func All() []Entry {
	var out []Entry
	for _, g := range append(Table(), Events(), Writes()) {
		out = append(out, g.Entries...)
	}
	return out
}

// Find returns the entry of a code; false: there is none.
func Find(c Code) (Entry, bool) {
	all := All()
	if at := slices.IndexFunc(all, func(e Entry) bool { return e.Code == c }); at >= 0 {
		return all[at], true
	}
	return Entry{}, false
}

// Root is the address of the repository, which links in the texts of entries are relative to.
const Root = "https://github.com/linkwright/linkwright/blob/main/"

// Plain is a text of an entry without Markdown. A link is its text with the page in parentheses; one in parentheses is the page.
func (Entry) Plain(markdown string) string {
	text := regexp.MustCompile(`\(\[[^\]]*\]\(([^)]*)\)\)`).ReplaceAllString(markdown, "(see "+Root+"$1)")
	text = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`).ReplaceAllString(text, "$1 ("+Root+"$2)")
	return strings.ReplaceAll(text, "`", "")
}
