package report

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// revisionsOf are the applied revision, the observed one if that is another, and those that clusters still have, in this order.
func revisionsOf(m mask, r Revision, clusters []carried) []output.Revision {
	in := map[string][]string{}
	for _, c := range clusters {
		if c.read && c.commit != "" {
			in[c.commit] = append(in[c.commit], c.name)
		}
	}
	out, known := []output.Revision{}, map[string]bool{"": true}
	add := func(commit, state string) *output.Revision {
		known[commit] = true
		out = append(out, output.Revision{TypeMeta: output.Of(output.KindRevision), Revision: commit, State: state, Clusters: append([]string{}, in[commit]...)})
		return &out[len(out)-1]
	}
	applied, observed := string(r.Applied), string(r.Observed)
	if applied != "" {
		one := add(applied, output.Applied)
		one.Reason, one.Since = m.reason(r.Denied), r.AppliedSince.UTC()
	}
	if r.Why != nil { // what was observed is not applied, or nothing could be observed
		if observed == applied || r.Why.Code == reason.RepositoryNotRead {
			observed = ""
		}
		one := add(observed, output.Observed)
		one.Reason, one.Since = m.reason(r.Why), r.Since.UTC()
	}
	for _, commit := range slices.Sorted(maps.Keys(in)) {
		switch {
		case known[commit]:
		case applied == "": // the record does not have what is applied
			add(commit, output.Applied)
		default:
			add(commit, output.Superseded)
		}
	}
	return out
}
