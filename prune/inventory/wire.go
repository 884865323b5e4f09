package inventory

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// wire is the persisted form.
type wire struct {
	Version    int                `json:"version"`
	Cluster    api.ClusterName    `json:"cluster"`
	Source     api.ClusterName    `json:"source,omitempty"`
	Target     api.ClusterName    `json:"target,omitempty"`
	Leaving    bool               `json:"leaving,omitempty"`
	Since      time.Time          `json:"since,omitzero"`
	Commit     api.Commit         `json:"commit,omitempty"`
	Term       int64              `json:"term,omitempty"`
	Conditions []object.Condition `json:"conditions,omitempty"`
	Linkerd    api.Linkerd        `json:"linkerd,omitzero"`
	Names      []api.ClusterName  `json:"names,omitempty"`
	Rotate     *Rotation          `json:"rotate,omitempty"`
	Entries    []object.Key       `json:"entries,omitempty"`
}

// began is Since as we would have written it; a moment that cannot be written again is none.
func (w wire) began() time.Time {
	if !w.Leaving {
		return time.Time{}
	}
	return spelled(w.Since)
}

// spelled is a moment as we would have written it; zero for one that cannot be written again.
func spelled(at time.Time) time.Time {
	at = at.UTC().Truncate(time.Second)
	if year := at.Year(); year < 1 || year > 9999 {
		return time.Time{}
	}
	return at
}

// unwrap decodes the ConfigMap of an inventory. In every pass a cluster's inventories are all read: what stands in one as
// we write it is read without reflection.
func unwrap(body object.Body) (w wire, err error) {
	data, found := body.Text("data", dataKey)
	if !found {
		var cm struct {
			Data map[string]string `json:"data"`
		}
		if err := json.Unmarshal(body.Bytes(), &cm); err != nil {
			return w, err
		}
		data = cm.Data[dataKey]
	}
	if w, ok := canonical(data); ok {
		return w, nil
	}
	if err := json.Unmarshal([]byte(data), &w); err != nil {
		return w, fmt.Errorf("key %s: %w (delete the ConfigMap: linkwright writes it again from the objects with its label)", dataKey, err)
	}
	return w, nil
}

// canonical reads what Object wrote: entries come last, and nothing is escaped; false for what looks otherwise.
func canonical(data string) (w wire, ok bool) {
	data, whole := strings.CutSuffix(data, "}")
	before, entries, some := strings.Cut(data, `,"entries":[`)
	before, linkerd, installed := installed(before)
	before, conditions, told := conditioned(before)
	w, ok = head(before)
	ok = ok && installed && told
	w.Linkerd, w.Conditions = linkerd, conditions
	if !ok || !whole || !plain(data) || !some {
		return w, ok && whole && plain(data)
	}
	entries, ok = strings.CutSuffix(entries, "]")
	if !ok {
		return wire{}, false
	}
	w.Entries, ok = keys(entries)
	return w, ok
}

// head reads what stands before the entries.
func head(rest string) (w wire, ok bool) {
	ok = take(&rest, `{"version":1,"cluster":"`)
	w.Version = version
	cluster, ok := text(&rest, ok)
	w.Cluster = api.ClusterName(cluster)
	for _, field := range []struct {
		begins string
		to     *api.ClusterName
	}{{`,"source":"`, &w.Source}, {`,"target":"`, &w.Target}} {
		if take(&rest, field.begins) {
			var name string
			name, ok = text(&rest, ok)
			*field.to = api.ClusterName(name)
		}
	}
	w.Leaving = take(&rest, `,"leaving":true`)
	if take(&rest, `,"since":"`) {
		w.Since, ok = moment(&rest, ok)
	}
	if take(&rest, `,"commit":"`) {
		var commit string
		commit, ok = text(&rest, ok)
		w.Commit = api.Commit(commit)
	}
	if take(&rest, `,"term":`) {
		w.Term, _ = strconv.ParseInt(rest, 10, 64)
		ok = ok && strconv.FormatInt(w.Term, 10) == rest
		rest = ""
	}
	return w, ok && rest == ""
}

// installed cuts where Linkerd is from what stands before the entries.
func installed(before string) (rest string, l api.Linkerd, ok bool) {
	rest, list, some := strings.Cut(before, `,"linkerd":{"namespace":"`)
	if !some {
		return before, l, true
	}
	l.Namespace, ok = text(&list, true)
	ok = take(&list, `,"multiclusterNamespace":"`) && ok
	l.MulticlusterNamespace, ok = text(&list, ok)
	return rest, l, ok && list == "}"
}

// moment takes a time up to its closing quote.
func moment(s *string, before bool) (time.Time, bool) {
	spelled, ok := text(s, before)
	at, err := time.Parse(time.RFC3339, spelled)
	return at, ok && err == nil
}

// plain reports whether every byte of a JSON string stands for itself.
func plain(data string) bool {
	for i := range len(data) {
		if c := data[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// keys reads entries, whose strings are shared with what they are read from.
func keys(entries string) ([]object.Key, bool) {
	out := make([]object.Key, 0, strings.Count(entries, "{"))
	for rest := entries; ; {
		k, ok := key(&rest)
		if !take(&rest, `}`) || !ok {
			return nil, false
		}
		out = append(out, k)
		if rest == "" {
			return out, true
		}
		if !take(&rest, `,`) {
			return nil, false
		}
	}
}

// key takes a key up to what follows its name.
func key(s *string) (k object.Key, ok bool) {
	ok = take(s, `{`)
	if take(s, `"group":"`) {
		k.Group, ok = text(s, ok)
		ok = take(s, `,`) && ok
	}
	ok = take(s, `"kind":"`) && ok
	k.Kind, ok = text(s, ok)
	if take(s, `,"namespace":"`) {
		k.Namespace, ok = text(s, ok)
	}
	ok = take(s, `,"name":"`) && ok
	k.Name, ok = text(s, ok)
	return k, ok
}

func take(s *string, prefix string) bool {
	rest, ok := strings.CutPrefix(*s, prefix)
	*s = rest
	return ok
}

// text takes a string up to its closing quote.
func text(s *string, before bool) (string, bool) {
	value, rest, ok := strings.Cut(*s, `"`)
	*s = rest
	return value, ok && before
}
