package inventory

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// wire is the persisted form.
type wire struct {
	Version int             `json:"version"`
	Cluster api.ClusterName `json:"cluster"`
	Source  api.ClusterName `json:"source,omitempty"`
	Target  api.ClusterName `json:"target,omitempty"`
	Leaving bool            `json:"leaving,omitempty"`
	Commit  api.Commit      `json:"commit,omitempty"`
	Term    int64           `json:"term,omitempty"`
	Entries []object.Key    `json:"entries,omitempty"`
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
		return w, fmt.Errorf("key %s: %w", dataKey, err)
	}
	return w, nil
}

// canonical reads what Object wrote: entries come last, and nothing is escaped; false for what looks otherwise.
func canonical(data string) (w wire, ok bool) {
	head, entries, _ := strings.Cut(data, `,"entries":[`)
	entries, whole := strings.CutSuffix(entries, "]}")
	if !whole || !plain(data) || json.Unmarshal([]byte(head+"}"), &w) != nil || w.Entries != nil {
		return wire{}, false
	}
	w.Entries, ok = keys(entries)
	return w, ok
}

// plain says that every byte of a JSON string stands for itself.
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
		var k object.Key
		ok := take(&rest, `{`)
		if take(&rest, `"group":"`) {
			k.Group, ok = text(&rest, ok)
			ok = take(&rest, `,`) && ok
		}
		ok = take(&rest, `"kind":"`) && ok
		k.Kind, ok = text(&rest, ok)
		if take(&rest, `,"namespace":"`) {
			k.Namespace, ok = text(&rest, ok)
		}
		ok = take(&rest, `,"name":"`) && ok
		k.Name, ok = text(&rest, ok)
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
