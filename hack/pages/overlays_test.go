package pages

import (
	"os"
	"strings"
)

func overlays() howTo {
	given := func(r *reader) {
		r.linked()
		_, east, _ := strings.Cut(clusters, "---\n")
		r.must(os.RemoveAll(r.beside("fleet/fleet")))
		r.write("clusters/east.yaml", r.filled(Part{}, east, nil))
		r.write("links.yaml", links)
	}
	return howTo{file: "docs/how-to/overlays.md", given: given, acts: []act{
		{at: "# clusters/west.yaml", run: (*reader).commented},
		{at: "# overlays/west/kustomization.yaml", run: (*reader).commented},
		{at: "# overlays/west/network-policy.yaml", run: (*reader).commented},
		{at: "linkwright validate .", after: func(r *reader) {
			r.push("Add an overlay")
			r.do("linkwright sync --repo URL")
			r.expect("kubectl --namespace linkerd-multicluster get deployment controller-east --output yaml", "team: mesh", "system-cluster-critical", "cpu: 20m", "key: infra")
			r.do("kubectl --namespace linkerd-multicluster get networkpolicy service-mirrors")
		}},
		{at: "linkwright validate ."},
		{at: "linkwright validate .", after: func(r *reader) { // what it added goes while linkwright still may delete it
			r.declared()
			r.do("linkwright sync --repo URL && ! kubectl --namespace linkerd-multicluster get networkpolicy service-mirrors")
		}},
	}}
}

// commented writes the file that a comment in the first line names.
func (r *reader) commented(text string) {
	r.Helper()
	first, rest, _ := strings.Cut(text, "\n")
	r.write(strings.TrimPrefix(first, "# "), rest)
}
