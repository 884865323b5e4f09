package overlay

import (
	"bytes"
	"regexp"

	"github.com/linkwright/linkwright/api"
)

var (
	divider    = regexp.MustCompile(`(?m)^---([ \t].*)?\r?$`)
	policyKind = regexp.MustCompile(`(?m)^kind:[ \t]+SyncPolicy[ \t]*\r?$`)
	ourVersion = regexp.MustCompile(`(?m)^apiVersion:[ \t]+` + regexp.QuoteMeta(api.GroupVersion) + `[ \t]*\r?$`)
	hasMeta    = regexp.MustCompile(`(?m)^metadata:`)
)

// nameSyncPolicies gives a SyncPolicy without metadata a name: it needs none, and kustomize builds no object without one.
func nameSyncPolicies(data []byte) []byte {
	if !policyKind.Match(data) {
		return data
	}
	var out []byte
	from := 0
	for _, at := range append(divider.FindAllIndex(data, -1), []int{len(data), len(data)}) {
		out = append(append(out, withName(data[from:at[0]])...), data[at[0]:at[1]]...)
		from = at[1]
	}
	return out
}

func withName(document []byte) []byte {
	kind := policyKind.FindIndex(document)
	if kind == nil || !ourVersion.Match(document) || hasMeta.Match(document) {
		return document
	}
	return bytes.Join([][]byte{document[:kind[0]], document[kind[0]:]}, []byte("metadata: {name: default}\n"))
}
