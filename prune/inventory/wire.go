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
	Values     []Value            `json:"values,omitempty"`
	Rotate     *Rotation          `json:"rotate,omitempty"`
	Entries    []object.Key       `json:"entries,omitempty"`
}

// leavingSince is the valid Since of an inventory that is leaving.
func (w wire) leavingSince() time.Time {
	if !w.Leaving {
		return time.Time{}
	}
	return wholeSecond(w.Since)
}

// decodeConfigMap decodes the ConfigMap of an inventory. All inventories are read in every sync, so text in linkwright's own form is
// parsed without reflection.
func decodeConfigMap(body object.Body) (w wire, err error) {
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
	if w, ok := parseCanonical(data); ok {
		return w, nil
	}
	if err := json.Unmarshal([]byte(data), &w); err != nil {
		return w, fmt.Errorf("key %s: %w (delete the ConfigMap: linkwright writes it again from the objects with its label)", dataKey, err)
	}
	return w, nil
}

// parseCanonical parses the form that Object writes: entries come last, and nothing is escaped; false: the text has another form.
func parseCanonical(data string) (w wire, ok bool) {
	data, whole := strings.CutSuffix(data, "}")
	before, entries, some := strings.Cut(data, `,"entries":[`)
	before, linkerd, installed := cutLinkerd(before)
	before, conditions, told := cutConditions(before)
	w, ok = parseHead(before)
	ok = ok && installed && told
	w.Linkerd, w.Conditions = linkerd, conditions
	if !ok || !whole || !isPlain(data) || !some {
		return w, ok && whole && isPlain(data)
	}
	entries, ok = strings.CutSuffix(entries, "]")
	if !ok {
		return wire{}, false
	}
	w.Entries, ok = parseKeys(entries)
	return w, ok
}

// parseHead parses the fields before the entries.
func parseHead(rest string) (w wire, ok bool) {
	ok = takePrefix(&rest, `{"version":1,"cluster":"`)
	w.Version = version
	cluster, ok := takeText(&rest, ok)
	w.Cluster = api.ClusterName(cluster)
	for _, field := range []struct {
		begins string
		to     *api.ClusterName
	}{{`,"source":"`, &w.Source}, {`,"target":"`, &w.Target}} {
		if takePrefix(&rest, field.begins) {
			var name string
			name, ok = takeText(&rest, ok)
			*field.to = api.ClusterName(name)
		}
	}
	w.Leaving = takePrefix(&rest, `,"leaving":true`)
	if takePrefix(&rest, `,"since":"`) {
		w.Since, ok = takeTime(&rest, ok)
	}
	if takePrefix(&rest, `,"commit":"`) {
		var commit string
		commit, ok = takeText(&rest, ok)
		w.Commit = api.Commit(commit)
	}
	if takePrefix(&rest, `,"term":`) {
		w.Term, _ = strconv.ParseInt(rest, 10, 64)
		ok = ok && strconv.FormatInt(w.Term, 10) == rest
		rest = ""
	}
	return w, ok && rest == ""
}

// cutLinkerd cuts Linkerd's namespaces off the end of a text.
func cutLinkerd(before string) (rest string, l api.Linkerd, ok bool) {
	rest, list, some := strings.Cut(before, `,"linkerd":{"namespace":"`)
	if !some {
		return before, l, true
	}
	l.Namespace, ok = takeText(&list, true)
	ok = takePrefix(&list, `,"multiclusterNamespace":"`) && ok
	l.MulticlusterNamespace, ok = takeText(&list, ok)
	return rest, l, ok && list == "}"
}

// takeTime takes a time up to its closing quote.
func takeTime(s *string, before bool) (time.Time, bool) {
	written, ok := takeText(s, before)
	at, err := time.Parse(time.RFC3339, written)
	return at, ok && err == nil
}

// isPlain reports whether a JSON string has no escapes and only printable ASCII.
func isPlain(data string) bool {
	for i := range len(data) {
		if c := data[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// parseKeys parses entries, whose strings share the memory of the text.
func parseKeys(entries string) ([]object.Key, bool) {
	out := make([]object.Key, 0, strings.Count(entries, "{"))
	for rest := entries; ; {
		k, ok := takeKey(&rest)
		if !takePrefix(&rest, `}`) || !ok {
			return nil, false
		}
		out = append(out, k)
		if rest == "" {
			return out, true
		}
		if !takePrefix(&rest, `,`) {
			return nil, false
		}
	}
}

// takeKey parses a key up to its name.
func takeKey(s *string) (k object.Key, ok bool) {
	ok = takePrefix(s, `{`)
	if takePrefix(s, `"group":"`) {
		k.Group, ok = takeText(s, ok)
		ok = takePrefix(s, `,`) && ok
	}
	ok = takePrefix(s, `"kind":"`) && ok
	k.Kind, ok = takeText(s, ok)
	if takePrefix(s, `,"namespace":"`) {
		k.Namespace, ok = takeText(s, ok)
	}
	ok = takePrefix(s, `,"name":"`) && ok
	k.Name, ok = takeText(s, ok)
	return k, ok
}

func takePrefix(s *string, prefix string) bool {
	rest, ok := strings.CutPrefix(*s, prefix)
	*s = rest
	return ok
}

// takeText takes a string up to its closing quote.
func takeText(s *string, before bool) (string, bool) {
	value, rest, ok := strings.Cut(*s, `"`)
	*s = rest
	return value, ok && before
}
