package api

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Exclusion is a rule about two values of Linkerd's installation: with some pairs of them, Linkerd's injector rejects every pod.
type Exclusion struct {
	Fields [2]string // paths of the values, such as proxy.nativeSidecar
	// Wrong says what is wrong with declarations of such a pair; empty: only the values of a cluster are checked.
	Wrong    string
	Remedy   string // what the values of a cluster must be instead
	rejected func(first, second string) bool
}

// Exclusions are the pairs for which Linkerd's chart fails (linkerd2 charts/partials/templates/_proxy.tpl, _proxy-init.tpl).
func Exclusions() []Exclusion {
	positive := func(n string) bool { return n != "" && n != "0" && n != "null" }
	return []Exclusion{
		{
			Fields:   [2]string{"proxy.nativeSidecar", "proxy.waitBeforeExitSeconds"},
			Wrong:    "Linkerd's injector accepts no waitBeforeExitSeconds with nativeSidecar",
			Remedy:   "declare proxy.waitBeforeExitSeconds: 0, or proxy.nativeSidecar: false",
			rejected: func(native, wait string) bool { return native == "true" && positive(wait) },
		},
		{
			Fields:   [2]string{"proxyInit.closeWaitTimeoutSecs", "proxyInit.runAsRoot"},
			Remedy:   "proxyInit.closeWaitTimeoutSecs needs proxyInit.runAsRoot: true",
			rejected: func(timeout, root string) bool { return positive(timeout) && root != "true" },
		},
	}
}

// Other returns the other field of the pair; empty: the rule is not about this one.
func (e Exclusion) Other(path string) string {
	switch path {
	case e.Fields[0]:
		return e.Fields[1]
	case e.Fields[1]:
		return e.Fields[0]
	}
	return ""
}

// Rejects reports whether the injector rejects a value of one field together with a value of the other one. Values are JSON; empty: there is none.
func (e Exclusion) Rejects(path, value, other string) bool {
	if path == e.Fields[1] {
		return e.rejected(other, value)
	}
	return e.rejected(value, other)
}

// RejectsDeclared reports whether declared values are wrong together, in one declaration or in two. Empty: the field is not declared.
func (e Exclusion) RejectsDeclared(first, second string) bool {
	return e.Wrong != "" && first != "" && second != "" && e.rejected(first, second)
}

// checkExclusions returns declared values that exclude each other, at the second one.
func (c ProxyConfig) checkExclusions() (found []Finding) {
	for _, e := range Exclusions() {
		if e.RejectsDeclared(c.value(e.Fields[0]), c.value(e.Fields[1])) {
			found = append(found, Finding{Path: strings.Split(e.Fields[1], "."), Message: e.Wrong, Hint: "remove one of them"})
		}
	}
	return found
}

// value returns a declared value as JSON; empty: it is not declared.
func (c ProxyConfig) value(path string) string {
	text, err := json.Marshal(c)
	for name := range strings.SplitSeq(path, ".") {
		var below map[string]json.RawMessage
		if err != nil || json.Unmarshal(text, &below) != nil {
			return "" // it was decoded from JSON
		}
		text = below[name]
	}
	return string(bytes.TrimSpace(text))
}
