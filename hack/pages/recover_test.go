package pages

func recovery() howTo {
	link := map[string]string{"NAME": "west/east"}
	return howTo{file: "docs/how-to/recover.md", given: (*reader).linked, acts: []act{
		{at: "linkwright status"},
		{at: "linkwright explain REASON", words: map[string]string{"REASON": "Unreachable"}},
		{at: "linkwright status", before: (*reader).dead, exit: exitNotDone, shows: []string{"east"}},
		{at: "linkwright abandon east --reason 'switched off for good'", asks: true, after: func(r *reader) {
			r.do("linkwright sync --repo URL && ! linkwright status | grep east")
		}},
		{at: "linkwright cluster add east . --context east --management-kubeconfig ../west.yaml", before: func(r *reader) {
			r.declare(map[string]string{"fleet/clusters.yaml": clusters, "fleet/links.yaml": links})
			r.do("kubectl --namespace linkwright delete secret east --ignore-not-found")
			r.fails(exitNotDone, "linkwright sync --repo URL")
		}, after: func(r *reader) { r.do("linkwright sync --repo URL") }},
		{
			at: "linkwright accept cluster east=8a4f0c5e-2f0b-4a43-9d0c-6f3f2a5d1c77 --reason 'rebuilt after an outage'", before: (*reader).builtAnew,
			words: map[string]string{"8a4f0c5e-2f0b-4a43-9d0c-6f3f2a5d1c77": "UID"}, after: func(r *reader) { r.do("linkwright sync --repo URL") },
		},
		{at: "linkwright suspend NAME --reason WHY", before: func(r *reader) {
			r.do("git rm -q fleet/links.yaml")
			r.push("Unlink by mistake")
		}, words: link},
		{at: "git revert", words: map[string]string{"git revert": "git revert --no-edit HEAD"}, after: func(r *reader) {
			r.do("git push -q origin main && linkwright sync --repo URL")
		}},
		{at: "linkwright resume NAME", words: link, after: func(r *reader) { r.expect("linkwright sync --repo URL", "1 Ready") }},
		{at: "linkwright allow non-fast-forward 89abcdef0123456789abcdef0123456789abcdef --reason 'repository was split'", before: func(r *reader) {
			r.do("git commit -q --amend --allow-empty -m 'Another history' && git push -qf origin main")
			out := r.fails(exitNotDone, "linkwright sync --repo URL")
			r.words["COMMIT"] = r.found(out, `linkwright allow non-fast-forward ([0-9a-f]{40})`)
		}, words: map[string]string{"89abcdef0123456789abcdef0123456789abcdef": "COMMIT"}, after: func(r *reader) { r.do("linkwright sync --repo URL") }},
		{at: "linkwright cluster add --all .", before: func(r *reader) {
			r.do("kubectl --namespace linkwright delete configmap linkwright-fleet")
			r.fails(exitError, "linkwright status")
			r.do("linkwright sync --repo URL")
		}},
	}}
}

// dead: east does not answer any more, and is not declared any more.
func (r *reader) dead() {
	r.Helper()
	r.do(`kubectl --namespace linkwright get secret east --output jsonpath='{.data.kubeconfig}' | base64 -d | sed 's#server: .*#server: https://127.0.0.1:9#' >../dead
kubectl --namespace linkwright patch secret east --patch "{\"data\": {\"kubeconfig\": \"$(base64 -w0 ../dead)\"}}"
git rm -q fleet/links.yaml
sed -i '/^---/,$d' fleet/clusters.yaml`)
	r.push("Remove east")
	r.fails(exitNotDone, "linkwright sync --repo URL")
}

// builtAnew: the record knows east by another uid, as it does when the name of a cluster leads to another one.
func (r *reader) builtAnew() {
	r.Helper()
	uid := r.uid("east")
	r.do(`kubectl --namespace linkwright get configmap linkwright-fleet --output yaml | sed 's/` + uid + `/00000000-0000-4000-8000-000000000000/' | kubectl replace --filename -`)
	out := r.fails(exitNotDone, "linkwright sync --repo URL")
	r.words["UID"] = r.found(out, `linkwright accept cluster east=([0-9a-f-]{36})`)
	if r.words["UID"] != uid {
		r.Errorf("the message names another cluster than %s:\n%s", uid, out)
	}
}
