package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// A mesh grows, and nobody granted the control plane's Secret of the new target by name yet: only remote discovery and federation of
// the new link wait, and say which command grants it. The rest of the link is made, and taken away again.
func TestUndiscovered(t *testing.T) {
	for _, spec := range []string{all, all + bound} {
		s := newIssuer(t, spec)
		s.forbidReading("west", planeKey)
		last := s.settle()
		row := last["west"].row(westEnd())
		if row.Phase != Blocked || row.Why.Code != reason.Forbidden || !strings.Contains(row.Why.Message, object.Installation{}.Grant()) || row.Ready() {
			t.Errorf("%q: %s %v, ready %t", spec, row.Phase, row.Why, row.Ready())
		}
		allInPlace(t, "east", last["east"])
		observed := s.live["west"].Live
		body, there := observed.Body(linkKey("east"))
		if !there || linkerd.UsesDiscovery(body) || !observed.Record(planeKey).IsZero() || observed.Record(deployment("east")).IsZero() {
			t.Errorf("%q: west holds %v, and the Link %s", spec, s.names("west"), body.Bytes())
		}
		if inv, _ := inventory.Of(owner, westEnd(), observed); inv.Has(planeKey) {
			t.Errorf("%q: the Secret is recorded, which nobody may write", spec)
		}

		s.hidden = nil
		allInPlace(t, "west", s.settle()["west"])
		if body, _ = s.live["west"].Live.Body(linkKey("east")); !linkerd.UsesDiscovery(body) || s.live["west"].Live.Record(planeKey).IsZero() {
			t.Errorf("%q: once it is granted, the Link is %s", spec, body.Bytes())
		}
	}
}

// Just these looks cannot be hidden: docs/design/0031-one-missing-right.md has the same list.
func TestNeeded(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.settle()
	var got []string
	for _, w := range s.now().Clusters["west"].Watches {
		if !w.MayBeForbidden {
			got = append(got, strings.TrimSpace(w.Kind+" "+w.Namespace+strings.Join(w.Names, " ")))
		}
	}
	same(t, "needed", []string{"ConfigMap linkwright-access", "Namespace kube-system linkerd linkerd-multicluster", "Namespace linkwright-access"}, got)
}

// A link that was never granted its Secret goes without it.
func TestUndiscoveredGoes(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.forbidReading("west", planeKey)
	before := s.names("west")
	s.settle()
	s.snapshot.Fleet = declare(t, two, policyDoc("maxLinks: 100%"))
	s.settle()
	if left := slices.DeleteFunc(s.names("west"), func(n string) bool { return slices.Contains(before, n) }); len(left) > 2 { // namespace, base
		t.Errorf("left in west: %v", left)
	}
}

// What is hidden later, and may be there, blocks the ends that need it, and no others; nothing of them is written or taken away, by
// whatever is declared, until it is seen again.
func TestHiddenBlocksWhatNeedsIt(t *testing.T) {
	unraced(t)
	three := []api.ClusterName{"east", "north", "west"}
	mesh := linkDoc("west", "east", all) + linkDoc("east", "west", all) + linkDoc("north", "east", all)
	out, in := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}, object.End{Cluster: "west", Link: api.Pair{Source: "east", Target: "west"}}
	far := object.End{Cluster: "east", Link: in.Link}
	kind := func(group, kind, ns string) object.Hidden {
		return object.Hidden{Key: object.Key{Group: group, Kind: kind, Namespace: ns}}
	}
	named := func(k, ns, name string) object.Hidden {
		return object.Hidden{Key: object.Key{Kind: k, Namespace: ns, Name: name}}
	}
	for what, c := range map[string]struct {
		hidden  object.Hidden
		blocked []object.End // of what is declared
		stay    []object.End // when all links are removed
	}{
		"a control plane's Secret":       {object.Hidden{Key: planeKey}, []object.End{out}, []object.End{out}},
		"accounts' tokens":               {kind("", "Secret", object.AccessNamespace), []object.End{far, in}, []object.End{in}},
		"accounts":                       {kind("", "ServiceAccount", object.AccessNamespace), []object.End{far, in}, []object.End{in}},
		"controllers":                    {kind("apps", "Deployment", mc), []object.End{out}, []object.End{out}},
		"the credentials of controllers": {kind("", "Secret", mc), []object.End{out}, []object.End{out}},
		"Linkerd Links":                  {kind(linkerd.Group, "Link", ""), []object.End{out}, []object.End{out}},
		"mirrors":                        {object.Hidden{Key: object.Key{Kind: "Service"}, Selector: linkerd.MirroredLabel}, nil, []object.End{out}},
		"pods":                           {object.Hidden{Key: object.Key{Kind: "Pod", Namespace: mc}, Selector: linkerd.MirrorWatches(api.Cluster{}.WithDefaults().Linkerd)[2].Selector}, nil, []object.End{out}},
		"the gateway":                    {named("Service", mc, "linkerd-gateway"), []object.End{far, in}, nil},
		"the API server's CA":            {named("ConfigMap", "kube-system", "kube-root-ca.crt"), []object.End{far, in}, nil},
		"Linkerd's configuration":        {named("ConfigMap", cp, "linkerd-config"), []object.End{out, far, in}, nil},
		"trust anchors":                  {named("ConfigMap", cp, "linkerd-identity-trust-roots"), nil, nil},
		"a role of Linkerd's":            {object.Hidden{Key: object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: linkerd.RemoteAccessRole}}, []object.End{far, in}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSim(t, declare(t, three, mesh), three...)
			s.settle()
			s.hidden = map[api.ClusterName][]object.Hidden{"west": {c.hidden}}
			before, there := s.names("west"), s.names("east")
			if c.blocked == nil { // it is told all the same
				c.blocked = []object.End{{Cluster: "west"}}
			}
			blocks(t, "declared", s.settle(), c.blocked)
			same(t, "nothing is taken away", before, s.names("west"))

			s.snapshot.Fleet = declare(t, three, policyDoc("maxLinks: 100%"))
			last := s.settle()
			for _, end := range c.stay {
				if row := last[end.Cluster].row(end); row.Why == nil || row.Why.Code != reason.Forbidden || !strings.Contains(row.Why.Message, object.Installation{}.Grant()) {
					t.Errorf("%s, removed: %s %v", end, row.Phase, row.Why)
				}
			}
			if slices.Contains(c.stay, out) {
				same(t, "its source loses nothing of a removed link", linkOf(before, "east"), linkOf(s.names("west"), "east"))
			}
			if slices.Contains(c.stay, in) {
				same(t, "nor does the other end of a link go", linkOf(there, "west"), linkOf(s.names("east"), "west"))
			}
			same(t, "the links of others are gone", nil, linkOf(s.names("north"), "east"))
			s.hidden = nil
			s.settle()
			same(t, "all is gone once it is seen", nil, linkOf(s.names("west"), "east"))
		})
	}
}

// linkOf returns the names of Linkerd Links, controllers and the control plane's Secrets for a target, in order.
func linkOf(names []string, target string) (out []string) {
	for _, n := range names {
		if strings.HasPrefix(n, "Link.") || strings.HasPrefix(n, "Deployment.apps "+mc) || strings.HasPrefix(n, "Secret "+cp) && strings.HasSuffix(n, target) {
			out = append(out, n)
		}
	}
	return out
}

// blocks: just these ends are blocked for what is hidden.
func blocks(t *testing.T, what string, steps map[api.ClusterName]Step, want []object.End) {
	t.Helper()
	var got []string
	for _, s := range steps {
		for _, r := range s.Rows {
			if r.Why != nil && r.Why.Code == reason.Forbidden && (r.Phase == Blocked || r.End.IsBase()) {
				got = append(got, r.End.String())
			} else if r.Phase != Ready {
				t.Errorf("%s: %s: %s %v", what, r.End, r.Phase, r.Why)
			}
		}
	}
	var names []string
	for _, end := range want {
		names = append(names, end.String())
	}
	slices.Sort(got)
	slices.Sort(names)
	same(t, what+": blocked", names, got)
}

// Where the Secret of a link that makes use of it is hidden, the whole end is blocked, whatever its inventory says: the Secret may
// carry a token that would be revoked.
func TestHiddenInUse(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.settle()
	inv, _ := inventory.Of(owner, westEnd(), s.live["west"].Live)
	inv.Entries = slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return k == planeKey })
	o, err := inv.Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	edit(&s.live["west"].Live, o.Key, s.live["west"].Live.Record(o.Key), o.Body)
	s.forbidReading("west", planeKey)
	row := s.settle()["west"].row(westEnd())
	if body, _ := s.live["west"].Live.Body(linkKey("east")); row.Phase != Blocked || row.Why.Code != reason.Forbidden || strings.Contains(row.Why.Message, "goes on") || !linkerd.UsesDiscovery(body) {
		t.Errorf("%s %v, and the Link is %s", row.Phase, row.Why, body.Bytes())
	}
}

// Nobody sees what is mirrored: a link's selectors do not get less, and nothing of it goes.
func TestHiddenMirrors(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.settle()
	s.hidden = map[api.ClusterName][]object.Hidden{"west": {{Key: object.Key{Kind: "Service"}, Selector: linkerd.MirroredLabel}}}
	before := s.names("west")
	for what, spec := range map[string]string{"without remote discovery": "", "run by others": all + "  controller: {mode: External}\n"} {
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", spec))
		if row := s.settle()["west"].row(westEnd()); row.Phase != Blocked || row.Why.Code != reason.Forbidden {
			t.Errorf("%s: %s %v", what, row.Phase, row.Why)
		}
		same(t, what, before, s.names("west"))
	}
}

// Required anchors that nobody lets linkwright read may be others.
func TestHiddenAnchors(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", "  trustAnchors: Require\n")), two...)
	s.forbidReading("east", object.Key{Kind: "ConfigMap", Namespace: cp, Name: "linkerd-identity-trust-roots"})
	if row := s.settle()["west"].row(westEnd()); row.Phase != Blocked || row.Why.Code != reason.Forbidden {
		t.Errorf("%s %v", row.Phase, row.Why)
	}
}
