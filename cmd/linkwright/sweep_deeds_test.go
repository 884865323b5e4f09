package main

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// deed is one change of what is declared, or one command.
type deed struct {
	name, fleet string
	from        *deed             // what stands before; nil: anything
	alike       *deed             // another that ends in the same state
	daemon      bool              // done by run, else by sync
	args        []string          // of another command that does it, which sync follows
	alone       bool              // sync does not follow, since it would undo it
	before      func()            // what somebody else does first
	mirrors     bool              // east's service is in west at the end
	slice       bool              // played by make test, too
	end         map[string]string // undisturbed
}

// state names where a deed ends.
func (d *deed) state() string {
	switch {
	case d == nil:
		return "unknown"
	case d.alike != nil:
		return d.alike.state()
	}
	return d.name
}

// all are the deeds. Those of a group are played in turns, so that most begin from where another ended.
func (s *sweep) all(clusters string) [][]*deed {
	const rich = ", remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}, controller: {podAntiAffinity: true}"
	richly, plainly := clusters+link("west", "east", rich), clusters+link("west", "east", "")
	nothing := &deed{name: "nothing", fleet: clusters}
	plain := &deed{name: "link", fleet: plainly, from: nothing, mirrors: true}
	s.nothing = nothing

	apply := &deed{name: "apply", fleet: richly, from: nothing, mirrors: true, slice: true}
	prune := &deed{name: "prune", fleet: plainly, from: apply, alike: plain, mirrors: true, slice: true}
	unlink := &deed{name: "unlink", fleet: clusters, from: plain, alike: nothing}

	adopt := &deed{
		name: "adopt", fleet: clusters + link("west", "east", full), from: nothing, args: []string{"adopt", "--all", "--yes"},
		before: func() { s.byHand("west", "east", false) }, mirrors: true, slice: true,
	}
	adopted := &deed{name: "unlink what was adopted", fleet: clusters, from: adopt, alike: nothing}

	uninstall := &deed{name: "uninstall", fleet: plainly, from: plain, args: []string{"uninstall", "--yes"}, alone: true, slice: true}
	install := &deed{name: "first install", fleet: plainly, from: uninstall, alike: plain, before: s.pristine, mirrors: true, slice: true}

	release := &deed{name: "release", fleet: clusters, from: plain, args: []string{"release", "--all", "--yes"}, mirrors: true}
	regain := &deed{name: "adopt what was released", fleet: plainly, from: release, args: []string{"adopt", "--all", "--yes"}, alike: plain, mirrors: true}

	external := &deed{name: "PerLink to External", fleet: clusters + link("west", "east", ", controller: {mode: External}"), from: plain, mirrors: true}
	perLink := &deed{name: "External to PerLink", fleet: plainly, from: external, args: []string{"adopt", "--all", "--yes"}, alike: plain, mirrors: true}

	applyD := &deed{name: "apply by a daemon", fleet: richly, from: nothing, alike: apply, daemon: true, mirrors: true}
	pruneD := &deed{name: "prune by a daemon", fleet: plainly, from: apply, alike: plain, daemon: true, mirrors: true}
	unlinkD := &deed{name: "unlink by a daemon", fleet: clusters, from: plain, alike: nothing, daemon: true, slice: true}

	leave := &deed{name: "leave", fleet: strings.Replace(clusters, "spec: {", "spec: {state: Leaving, ", 1), from: plain} // east
	back := &deed{name: "return", fleet: plainly, from: leave, alike: plain, mirrors: true}

	groups := [][]*deed{
		{apply, prune, unlink},
		{adopt, adopted},
		{uninstall, install},
		{release, regain},
		{external, perLink},
		{applyD, pruneD, unlinkD},
		{leave, back},
	}
	if *sweepRounds == 1 && whole() {
		for i := range groups {
			groups[i] = slices.DeleteFunc(groups[i], func(d *deed) bool { return !d.slice })
		}
	}
	return groups
}

// pristine has nothing of ours anywhere, as before the first run: neither namespaces nor the management cluster's lease and record.
func (s *sweep) pristine() {
	s.t.Helper()
	s.leases(func(leases coordination.LeaseInterface, name string) error {
		return leases.Delete(s.t.Context(), name, metav1.DeleteOptions{})
	})
	for _, c := range []string{"east", "west"} {
		s.noNamespace(c, "linkwright-access")
	}
}

// noNamespace takes a namespace away as the server's controller would, which waits for five seconds first.
func (s *sweep) noNamespace(cluster, name string) {
	s.t.Helper()
	core, ctx := s.client(cluster).CoreV1(), s.t.Context()
	all, now := metav1.ListOptions{}, metav1.DeleteOptions{}
	err := core.Namespaces().Delete(ctx, name, now)
	if err == nil {
		err = errors.Join(core.ConfigMaps(name).DeleteCollection(ctx, now, all), core.Secrets(name).DeleteCollection(ctx, now, all),
			core.ServiceAccounts(name).DeleteCollection(ctx, now, all))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ns, err := core.Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		ns.Spec.Finalizers = nil
		_, err = core.Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	s.eventually("no namespace "+name+" in "+cluster, func() bool {
		_, err := core.Namespaces().Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
