package report

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/sync/report/output"
)

// Listing is a list of items of one kind, with a row of a table for each.
type Listing struct {
	items      []item
	head, wide []string
	list       func(items []item) any
}

type item struct {
	value     any
	ref       string // kind/name, as -o name shows it
	row, wide []string
}

// listing lists items. rows gives a table of some of them, the first row being the head.
func listing[Item output.Named](kind string, all []Item, rows func(all []Item, wide bool) [][]string) Listing {
	plain, wide := rows(all, false), rows(all, true)
	out := Listing{head: plain[0], wide: wide[0]}
	for i, one := range all {
		out.items = append(out.items, item{one, one.Ref(), plain[i+1], wide[i+1]})
	}
	out.list = func(items []item) any {
		l := output.List[Item]{TypeMeta: output.Of(kind), Items: make([]Item, len(items))}
		for i, one := range items {
			l.Items[i], _ = one.value.(Item)
		}
		return l
	}
	return out
}

// Len is how many items there are.
func (l Listing) Len() int { return len(l.items) }

// Refs are the items' names: kind/name.
func (l Listing) Refs() []string {
	out := make([]string, len(l.items))
	for i, one := range l.items {
		out[i] = one.ref
	}
	return out
}

// Only are the items whose name is wanted.
func (l Listing) Only(wanted func(ref string) bool) Listing {
	l.items = slices.DeleteFunc(slices.Clone(l.items), func(i item) bool { return !wanted(i.ref) })
	return l
}

// Changed are the items that another listing has not, or not as they are here. That time goes by is no change.
func (l Listing) Changed(was Listing) Listing {
	before := make(map[string]bool, len(was.items))
	for _, one := range was.items {
		before[one.text()] = true
	}
	l.items = slices.DeleteFunc(slices.Clone(l.items), func(i item) bool { return before[i.text()] })
	return l
}

func (i item) text() string {
	text, err := output.JSON(i.value)
	if err != nil { // does not happen: every item encodes
		return i.ref
	}
	return text
}

// Answer is the list.
func (l Listing) Answer(headers bool) Answer { return l.answer(l.list(l.items), headers) }

// One is the answer about the only item: the item itself instead of a list.
func (l Listing) One(headers bool) Answer { return l.answer(l.items[0].value, headers) }

// Each are answers about every item alone.
func (l Listing) Each() []Answer {
	out := make([]Answer, len(l.items))
	for i, one := range l.items {
		alone := l
		alone.items = l.items[i : i+1]
		out[i] = alone.answer(one.value, false)
	}
	return out
}

func (l Listing) answer(document any, headers bool) Answer {
	return Answer{Document: document, NoHeaders: !headers, texts: map[Format]func() string{
		Text: func() string { return l.table(headers, l.head, func(i item) []string { return i.row }) },
		Wide: func() string { return l.table(headers, l.wide, func(i item) []string { return i.wide }) },
		Name: func() string {
			if len(l.items) == 0 {
				return ""
			}
			return strings.Join(l.Refs(), "\n") + "\n"
		},
	}}
}

func (l Listing) table(headers bool, head []string, row func(item) []string) string {
	rows := [][]string{head}
	for _, one := range l.items {
		rows = append(rows, row(one))
	}
	if headers {
		return table(rows)
	}
	var out []string
	for _, r := range rows[1:] {
		out = append(out, strings.Join(r, "\t"))
	}
	return columns("", out)
}
