package pages

import "strings"

// howTos are the pages in the order in which they are followed. The last one leaves nothing of linkwright in east.
func howTos() []howTo {
	return []howTo{readme(), install(), operate(), monitor(), decisions(), rotate(), share(), proxies(), upgrade(), ci(), git(), overlays(), recovery(), retire(), takeOver(), access()}
}

// readme declares what the page declares. From the section Use on, the fleet is that of all pages.
func readme() howTo {
	return howTo{file: "README.md", given: func(r *reader) { r.clean(); r.checkout(); r.declare(nil) }, acts: []act{
		{at: "apiVersion: linkwright.dev/v1alpha1", words: map[string]string{
			"https://west.example.com:6443":      "WEST",
			"    kubeconfigSecret: {name: east}": "    kubeconfigSecret: {name: east}\n  apiServer: EAST",
		}, run: func(r *reader, text string) { r.write("mesh.yaml", text) }},
		{at: "apiVersion: linkwright.dev/v1alpha1", run: func(r *reader, text string) { r.write("link.yaml", text) }},
		{at: "linkwright validate .", shows: []string{"valid: 2 clusters"}, after: func(r *reader) {
			r.push("Declare the mesh")
			r.do("linkwright cluster add --all . --management-kubeconfig ../west.yaml")
		}},
		{at: "linkwright validate PATH", before: (*reader).discovering, words: map[string]string{"PATH": "fleet"}, shows: []string{"valid: 2 clusters, 2 links"}},
		{at: "linkwright diff main..branch --repo URL", exit: 1, shows: []string{"no longer declared"}},
		{at: "linkwright describe link west/east", shows: []string{"Ready:      True"}},
		{at: "linkwright suspend NAME --reason WHY", words: map[string]string{"NAME": "west/east"}},
		{at: "linkwright resume NAME", words: map[string]string{"NAME": "west/east"}},
		{at: "linkwright import --context west --context east", shows: []string{"name: west-east"}},
		{at: "linkwright uninstall --repo URL", exit: exitNotDone, shows: []string{"nothing was written"}},
	}}
}

// inCheckout runs a command in a checkout of linkwright.
func inCheckout(r *reader, text string) {
	r.Helper()
	r.do("(cd " + r.root() + " && " + text + ")")
}

func install() howTo {
	return howTo{file: "docs/how-to/install.md", given: (*reader).linked, acts: []act{
		{at: "linkwright bootstrap", exit: exitNotDone, shows: []string{"nothing to commit", "needs a confirmation"}},
		{at: "linkwright import", words: map[string]string{"import": "import --context west --context east"}, shows: []string{"name: west-east"}},
		{at: "linkwright cluster add --all . --management-kubeconfig ../west.yaml", shows: []string{"Secret linkwright/east holds a token"}},
		{at: "kubectl --context west apply --server-side -k examples/install/management", run: inCheckout},
		{at: "kubectl --context west --namespace linkwright get pods", shows: []string{"linkwright-", "Ready"}},
		{at: "image: {repository: registry.example.com/linkwright, tag: v1}", run: func(r *reader, text string) { r.write("values.yaml", text) }},
		{at: "kubectl --context west label namespace linkwright pod-security.kubernetes.io/enforce=restricted"},
		{at: "linkwright sync", words: map[string]string{"sync": "sync --repo URL"}},
	}}
}

func operate() howTo {
	return howTo{file: "docs/how-to/operate.md", given: (*reader).linked, acts: []act{
		{at: "linkwright get links", shows: []string{"west", "east", "Ready"}},
		{at: "linkwright events", shows: []string{"link/west/east"}},
		{at: "linkwright resume NAME", before: func(r *reader) { r.do("linkwright suspend west/east --reason incident") }, words: map[string]string{"NAME": "west/east"}},
		{at: "linkwright run", run: (*reader).addressesOfDaemon},
		{at: "linkwright suspend NAME --reason WHY", words: map[string]string{"NAME": "east"}, after: func(r *reader) {
			r.expect("linkwright status", "incident")
			r.do("linkwright resume --all")
		}},
	}}
}

func monitor() howTo {
	link, east := map[string]string{"SOURCE": "west", "TARGET": "east"}, map[string]string{"NAME": "east"}
	return howTo{file: "docs/how-to/monitor.md", given: (*reader).linked, acts: []act{
		{at: "serviceMonitor: {enabled: true, labels: {release: prometheus}}", run: func(r *reader, text string) { r.write("values.yaml", text) }},
		{at: "linkwright describe link SOURCE/TARGET", words: link, shows: []string{"Ready:      True"}},
		{at: "linkwright explain REASON", words: map[string]string{"REASON": "ControllerNotLeading"}},
		{at: "linkwright describe cluster NAME", words: east},
		{at: "linkwright describe cluster NAME", words: east},
		{at: "linkwright describe link SOURCE/TARGET", words: link},
	}}
}

// addressesOfDaemon: a daemon serves what the table of the page says.
func (r *reader) addressesOfDaemon(string) {
	r.Helper()
	r.daemon("", `curl -fsS $DAEMON/ | grep '"SyncReport"' && curl -fsS $DAEMON/report.json | grep '"SyncReport"' &&
curl -fsS $DAEMON/metrics | grep linkwright_ && curl -fsS $DAEMON/readyz && curl -fsS $DAEMON/healthz`)
}

func decisions() howTo {
	link, east := map[string]string{"NAME": "west/east"}, map[string]string{"NAME": "east", "CLUSTER": "east"}
	return howTo{file: "docs/how-to/decisions.md", given: (*reader).linked, acts: []act{
		{at: "linkwright suspend NAME… --reason WHY [--until 2h]", words: link, after: func(r *reader) { r.expect("linkwright sync --repo URL", "1 Suspended") }},
		{at: "linkwright resume NAME…", words: link},
		{at: "linkwright reconcile [CLUSTER…]", words: east},
		{at: "linkwright accept cluster NAME=UID", before: func(r *reader) { r.words["UID"] = r.uid("east") }, words: east},
		{at: "linkwright allow non-fast-forward COMMIT", before: func(r *reader) { r.words["COMMIT"] = r.commit() }},
		{at: "linkwright abandon CLUSTER", words: east, exit: exitNotDone, shows: []string{"this needs a confirmation"}},
		{at: "linkwright status", shows: []string{"AcceptCluster", "AllowNonFastForward"}},
		{at: "apiVersion: rbac.authorization.k8s.io/v1", after: (*reader).mayDecide},
	}}
}

// mayDecide: the Role of the page is enough to decide. Then a sync uses up the decisions.
func (r *reader) mayDecide() {
	r.Helper()
	r.do(`kubectl --namespace linkwright create serviceaccount person
kubectl --namespace linkwright create rolebinding person --role linkwright-decisions --serviceaccount linkwright:person
cp ../kubeconfig ../person && kubectl --kubeconfig ../person config set-credentials west --token $(kubectl --namespace linkwright create token person)
linkwright suspend west/east --reason incident --kubeconfig ../person --context west
linkwright resume west/east --kubeconfig ../person --context west
rm ../person
linkwright sync --repo URL
! linkwright status | grep -e AcceptCluster -e AllowNonFastForward`)
}

func rotate() howTo {
	synced := func(r *reader) { r.do("linkwright sync --repo URL") }
	return howTo{file: "docs/how-to/rotate.md", given: (*reader).linked, acts: []act{
		{at: "linkwright rotate west/east --repo URL", after: synced},
		{at: "linkwright rotate west/east --revoke --repo URL", after: synced},
		{at: "linkwright rotate --repo URL", after: synced},
		{at: "linkwright status", after: func(r *reader) { r.do("! linkwright status | grep CredentialInUse") }},
		{at: "linkwright resume NAME", before: func(r *reader) { r.do("linkwright suspend west/east --reason incident") }, words: map[string]string{"NAME": "west/east"}},
		{at: "linkwright cluster add NAME PATH --context CONTEXT", words: map[string]string{"NAME": "east", "CONTEXT": "east"}},
		{at: "linkwright rotate LINK --revoke --repo URL", words: map[string]string{"LINK": "west-east"}, after: synced},
		{at: "linkwright trust status --context west --context east", shows: []string{"root.linkerd.cluster.local", "no ("}},
		{
			at:    "linkwright trust status --context west --context east --anchor OLD",
			words: map[string]string{"OLD": "root.linkerd.cluster.local"}, exit: exitNotDone, shows: []string{"LastTrustAnchor", "IssuerUnknown"},
		},
	}}
}

// share moves the link to the shared controller, whose replicas share the only node. The next page declares the link without that, and so moves it back.
func share() howTo {
	return howTo{file: "docs/how-to/share-a-controller.md", given: (*reader).linked, acts: []act{
		{
			at:    "linkwright cluster add NAME PATH --context CONTEXT --allow-controller-image registry.example.com/linkwright",
			words: map[string]string{"NAME": "west", "CONTEXT": "west"},
		},
		{at: "controller:", words: map[string]string{"podAntiAffinity: true": "podAntiAffinity: false"}, run: func(r *reader, text string) {
			r.write("fleet/links.yaml", strings.Replace(links, "{source: west, target: east}", "\n  source: west\n  target: east\n  "+strings.ReplaceAll(text, "\n", "\n  "), 1))
			r.push("Share a controller")
		}},
		{at: "linkwright sync --repo URL --allow-controller-image registry.example.com/linkwright"},
		{at: "linkwright status", shows: []string{"Ready"}, after: func(r *reader) {
			r.do(`kubectl --context west --namespace linkerd-multicluster get deployment linkwright-mirror
! kubectl --context west --namespace linkerd-multicluster get deployment controller-east`)
		}},
	}}
}

// proxies sets a value in both clusters, and takes it back.
func proxies() howTo {
	level := func(r *reader, want string) {
		r.do(`test "$(kubectl --context east --namespace linkerd get configmap linkerd-config -o jsonpath='{.data.values}' | grep logLevel:)" = "  logLevel: ` + want + `"`)
	}
	return howTo{file: "docs/how-to/proxies.md", given: (*reader).linked, acts: []act{
		{at: "apiVersion: linkwright.dev/v1alpha1", run: func(r *reader, text string) {
			r.do("git checkout -qB branch")
			r.write("fleet/proxies.yaml", text)
			r.do("git add --all . && git commit --quiet --message 'Set the log level' && git push -qf origin branch")
		}},
		{at: "linkwright cluster add NAME PATH --context CONTEXT", words: map[string]string{"NAME": "east", "CONTEXT": "east", "PATH": "."}},
		{
			at: "linkwright diff --ref branch --repo URL", before: func(r *reader) { r.do("linkwright cluster add west . --context west") }, exit: 1,
			shows: []string{"patch", "-      logLevel: warn,linkerd=info", "+      logLevel: warn,linkerd=debug", "2 to patch"},
		},
		{at: "linkwright sync --repo URL", before: func(r *reader) { r.do("git checkout -q main && git merge -q branch && git push -q origin main") }, after: func(r *reader) {
			level(r, "warn,linkerd=debug")
			r.expect("linkwright describe cluster east", `proxy.logLevel is "warn,linkerd=debug", before "warn,linkerd=info"`)
			out := r.fails(exitNotDone, "linkwright uninstall --repo URL")
			r.found(out, `(patch ConfigMap linkerd/linkerd-config: the values from before are put back: proxy.logLevel)`)
		}},
		{at: "linkwright rollout status --context west --context east"},
		{at: "apiVersion: linkwright.dev/v1alpha1", run: func(r *reader, text string) {
			r.write("fleet/restarts.yaml", text)
			r.push("Restart workloads")
		}},
		{at: "linkwright cluster add NAME PATH --context CONTEXT", words: map[string]string{"NAME": "east", "CONTEXT": "east", "PATH": "."}, after: func(r *reader) {
			r.do("linkwright cluster add west . --context west && linkwright sync --repo URL")
			r.expect("linkwright status", "WaitingForInjector")
		}},
		{at: "linkwright rollout pause --context west", after: func(r *reader) {
			r.expect("linkwright rollout pause --context west", "Paused")
			r.do("linkwright sync --repo URL")
			r.expect("linkwright status", "RolloutPaused")
			r.expect("linkwright rollout resume --context west", "Resumed")
			r.do("git rm -q fleet/proxies.yaml fleet/restarts.yaml")
			r.push("Take the log level back")
			r.do("linkwright sync --repo URL")
			level(r, "warn,linkerd=info")
		}},
		{
			at: "linkwright rollout undo --context west", before: func(r *reader) { r.do("! linkwright status | grep Rollout") }, exit: exitNotDone,
			shows: []string{"this needs a confirmation"},
		},
		{at: "linkwright describe cluster NAME", words: map[string]string{"NAME": "east"}, after: func(r *reader) { r.do("! linkwright describe cluster east | grep proxy.logLevel") }},
	}}
}

func upgrade() howTo {
	return howTo{file: "docs/how-to/upgrade.md", given: (*reader).linked, acts: []act{
		{at: "linkwright cluster add NAME PATH --context CONTEXT", words: map[string]string{"NAME": "east", "CONTEXT": "east"}},
	}}
}

// ci declares addresses that other machines can use, so that nothing warns of them.
func ci() howTo {
	given := func(r *reader) {
		r.linked()
		r.words["WEST"], r.words["EAST"] = "https://west.example.com:6443", "https://east.example.com:6443"
		r.declare(map[string]string{"fleet/clusters.yaml": clusters, "fleet/links.yaml": links})
	}
	return howTo{file: "docs/how-to/ci.md", given: given, acts: []act{
		{at: "linkwright validate PATH", words: map[string]string{"PATH": "fleet"}},
		{at: "linkwright validate REPO@REV", words: map[string]string{"REPO": "URL", "REV": "main"}},
		{at: "#!/bin/sh", run: (*reader).preCommit},
	}}
}

// preCommit: Git runs the hook, which stops a commit of wrong declarations.
func (r *reader) preCommit(hook string) {
	r.Helper()
	r.write(".git/hooks/pre-commit", hook)
	r.do(`chmod +x .git/hooks/pre-commit
git commit --quiet --allow-empty --message valid`)
	r.write("fleet/wrong.yaml", "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: x}\nspec: {source: west, target: nowhere}\n")
	r.fails(1, "git add . && git commit --quiet --message invalid")
	r.do("rm .git/hooks/pre-commit && git rm -qf fleet/wrong.yaml")
}

func takeOver() howTo {
	return howTo{file: "docs/how-to/take-over.md", given: (*reader).handMade, acts: []act{
		{at: "linkwright import --kubeconfig FILE --context east --context west > fleet.yaml", words: map[string]string{"FILE": "../west.yaml"}, after: func(r *reader) {
			r.addresses(r.beside("fleet/fleet.yaml"))
			r.push("Declare what is linked")
		}},
		{at: "linkwright validate .", after: (*reader).added},
		{at: "linkwright adopt --all --repo URL", asks: true, shows: []string{"now", "next sync   removes annotation", "next sync   changes"}},
		{at: "linkwright sync --repo URL", shows: []string{"1 link: 1 Ready"}},
		{at: "linkwright release --all --yes --repo URL", after: func(r *reader) { r.do("linkwright adopt --all --yes --repo URL && linkwright sync --repo URL") }},
		{at: "linkwright uninstall --yes --repo URL", shows: []string{"CleanupComplete"}},
	}}
}

func retire() howTo {
	return howTo{file: "docs/how-to/retire-a-cluster.md", given: (*reader).linked, acts: []act{
		{at: "linkwright diff main..branch --repo URL", exit: 1, shows: []string{
			"Link west→east is removed:", "deletes the mirror Services of east. linkwright deletes what is left after 5m (prune.drainDeadline).",
			"the credentials and 5 more objects in west.", "its token and 1 more object in east.",
		}},
		{at: "linkwright diff --ref branch --repo URL", exit: 1, shows: []string{"Link west→east is removed:", "No guard denies this."}},
		{at: "linkwright approve HASH", before: (*reader).overLimit, after: func(r *reader) { r.expect("linkwright sync --repo URL", "1 Removed") }},
		{at: "linkwright status --repo URL", before: (*reader).leaving, shows: []string{"CleanupComplete"}},
		{at: "linkwright uninstall --repo URL", exit: exitNotDone, shows: []string{"nothing was written", "stays in every cluster"}},
	}}
}

// overLimit: a commit removes more than its limits allow.
func (r *reader) overLimit() {
	r.Helper()
	r.write("fleet/policy.yaml", "apiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nspec: {prune: {maxLinks: 0%, minAllowed: 0}}\n")
	r.push("Allow no removal")
	r.do("linkwright sync --repo URL && git rm -q fleet/links.yaml")
	r.push("Unlink")
	out := r.fails(exitNotDone, "linkwright sync --repo URL")
	r.words["HASH"] = r.found(out, `linkwright approve ([0-9a-f]{12})`)
}

// leaving: a cluster with a link is declared as leaving, and left.
func (r *reader) leaving() {
	r.Helper()
	r.declare(map[string]string{"fleet/clusters.yaml": clusters, "fleet/links.yaml": links})
	r.do(`linkwright sync --repo URL
sed -i 's/name: east}$/name: east}\nspec: {state: Leaving}/; ' fleet/clusters.yaml && sed -i '/state: Leaving/{N;s/spec: {state: Leaving}\nspec: {/spec: {state: Leaving, /}' fleet/clusters.yaml`)
	r.push("Retire east")
	r.do("linkwright sync --repo URL")
}
