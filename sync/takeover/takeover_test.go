package takeover

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

const owner = "linkwright"

// live is one object as it is in a cluster.
type live struct {
	key         object.Key
	mark        object.Mark
	going       bool
	labels      map[string]string
	annotations map[string]string
}

func (l live) with(labels map[string]string) live {
	all := map[string]string{}
	for _, more := range []map[string]string{l.labels, labels} {
		maps.Copy(all, more)
	}
	l.labels = all
	return l
}

func observation(t *testing.T, objects ...live) object.Observation {
	t.Helper()
	edit := object.Observation{}.Edit()
	for _, o := range objects {
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": o.key.Name, "labels": o.labels, "annotations": o.annotations}})
		if err != nil {
			t.Fatal(err)
		}
		edit.Put(o.key, object.Record{UID: "uid", Mark: o.mark, Terminating: o.going}, object.NewBody(body))
	}
	return edit.Observation()
}

func westEast(credentials api.CredentialMode, controller api.ControllerMode) fleet.Link {
	cluster := func(name api.ClusterName) *fleet.Cluster {
		return &fleet.Cluster{Name: name, Spec: api.Cluster{Linkerd: api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: "mc"}}}
	}
	spec := api.LinkSpec{}
	spec.Credentials.Mode, spec.Controller.Mode = credentials, controller
	return fleet.Link{Source: cluster("west"), Target: cluster("east"), Spec: &spec}
}

// chart returns an object as Linkerd's multicluster chart makes it for west→east.
func chart(group, kind, name string) live {
	return live{
		key:    object.Key{Group: group, Kind: kind, Namespace: "mc", Name: name},
		labels: map[string]string{linkerd.ExtensionLabel: "multicluster", linkerd.ComponentLabel: "controller", linkerd.ClusterNameLabel: "east"},
	}
}

func TestSource(t *testing.T) {
	controller := chart("apps", "Deployment", "controller-east")
	account := chart("", "ServiceAccount", "controller-east")
	legacy := live{key: object.Key{Kind: "ServiceAccount", Namespace: "mc", Name: "linkerd-service-mirror-east"}}
	oursAlready, otherInstallation, deleted, unlabeled := controller, controller.with(map[string]string{object.OwnerLabel: "blue"}), controller, controller
	oursAlready.mark, oursAlready.labels = object.Ours, nil
	otherInstallation.mark = object.Theirs
	deleted.going = true
	unlabeled.labels = nil
	unread := controller
	unread.mark = object.Theirs
	flux := controller.with(map[string]string{"kustomize.toolkit.fluxcd.io/name": "mesh"})

	perLink, external := westEast(api.LegacyToken, api.PerLink), westEast(api.LegacyToken, api.External)
	for _, tt := range []struct {
		name    string
		link    fleet.Link
		rules   state.AdoptRules
		objects []live
		want    []string
		denied  reason.Code
	}{
		{"what the chart made", perLink, state.AdoptRules{}, []live{controller, account}, []string{"Deployment", "ServiceAccount"}, ""},
		{"of another target", perLink, state.AdoptRules{}, []live{chart("apps", "Deployment", "controller-north")}, nil, ""},
		{"in another namespace", perLink, state.AdoptRules{}, []live{{key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "other", Name: "controller-east"}}}, nil, ""},
		{"the controller is the user's", external, state.AdoptRules{}, []live{controller, account}, nil, ""},
		{"linkwright's already, whatever its labels", perLink, state.AdoptRules{}, []live{oursAlready}, []string{"Deployment"}, ""},
		{"the name alone", perLink, state.AdoptRules{}, []live{unlabeled}, nil, reason.NotAdoptable},
		{"a legacy name alone, which linkwright does not need", perLink, state.AdoptRules{}, []live{legacy}, nil, ""},
		{"being deleted", perLink, state.AdoptRules{}, []live{deleted}, nil, reason.Terminating},
		{"another installation's", perLink, state.AdoptRules{}, []live{otherInstallation}, nil, reason.ObjectExists},
		{"another installation's, which is gone", perLink, state.AdoptRules{From: "blue"}, []live{otherInstallation}, []string{"Deployment"}, ""},
		{"another installation is gone", perLink, state.AdoptRules{From: "green"}, []live{otherInstallation}, nil, reason.ObjectExists},
		{"another installation's, not read whole", perLink, state.AdoptRules{From: "blue"}, []live{unread}, nil, reason.ObjectExists},
		{"managed by Flux", perLink, state.AdoptRules{}, []live{flux}, nil, reason.ManagedByOtherTool},
		{"managed by Flux, and forced", perLink, state.AdoptRules{Managed: true}, []live{flux}, []string{"Deployment"}, ""},
		{"one of two is denied", perLink, state.AdoptRules{}, []live{account, deleted}, nil, reason.Terminating},
	} {
		adopted, why := Source(observation(t, tt.objects...), tt.link, tt.rules)
		check(t, tt.name, adopted, why, tt.want, tt.denied)
	}
}

// With mode Existing the credentials stay the user's, although they have the names that linkwright would use.
func TestSourceOfExistingCredentials(t *testing.T) {
	secret := live{key: object.Key{Kind: "Secret", Namespace: "mc", Name: "cluster-credentials-east"}}
	adopted, why := Source(observation(t, secret), westEast(api.Existing, api.PerLink), state.AdoptRules{})
	check(t, "mode Existing", adopted, why, nil, "")
	_, why = Source(observation(t, secret), westEast(api.LegacyToken, api.PerLink), state.AdoptRules{})
	check(t, "mode LegacyToken", nil, why, nil, reason.NotAdoptable)
}

// A message names the labels that are missing, and how to add them. What cannot be mended by labels is not advised so.
func TestMissingLabels(t *testing.T) {
	bare := chart("apps", "Deployment", "controller-east")
	bare.labels = map[string]string{linkerd.ExtensionLabel: "multicluster", linkerd.ComponentLabel: "web"}
	secret := live{key: object.Key{Kind: "Secret", Namespace: "mc", Name: "cluster-credentials-east"}}
	for _, tt := range []struct {
		object live
		want   string
	}{
		{bare, "lacks component=controller, mirror.linkerd.io/cluster-name=east, which"},
		{bare, "run kubectl label --overwrite --namespace mc deployment.apps controller-east component=controller mirror.linkerd.io/cluster-name=east; otherwise"},
		{secret, "is not as Linkerd's own tools make it"},
	} {
		seen := observation(t, tt.object)
		_, why := Source(seen, westEast(api.LegacyToken, api.PerLink), state.AdoptRules{})
		if why == nil || !strings.Contains(why.Message, tt.want) {
			t.Errorf("%s: %v, want %q", tt.object.key, why, tt.want)
		}
		if same := Unlabelled(seen, westEast(api.LegacyToken, api.PerLink)); why == nil || (same == nil) != (tt.object.labels == nil) || same != nil && *same != *why {
			t.Errorf("%s: %v, and adopt says %v", tt.object.key, same, why)
		}
	}
	if why := Unlabelled(observation(t, chart("apps", "Deployment", "controller-east")), westEast(api.LegacyToken, api.PerLink)); why != nil {
		t.Errorf("what the chart made: %v", why)
	}
}

func TestTarget(t *testing.T) {
	account := live{key: object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}}
	binding := live{key: object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: object.AccessNamespace + ".linkwright.west"}}
	otherSource := live{key: object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.north"}}
	deleted, theirs, ours := account, account.with(map[string]string{object.OwnerLabel: "blue"}), account
	deleted.going, theirs.mark = true, object.Theirs
	ours.mark, ours.going = object.Ours, true
	for _, tt := range []struct {
		name    string
		rules   state.AdoptRules
		objects []live
		want    []string
		denied  reason.Code
	}{
		{"without a mark, as a backup restores it", state.AdoptRules{}, []live{account, binding}, []string{"ClusterRoleBinding", "ServiceAccount"}, ""},
		{"of another source", state.AdoptRules{}, []live{otherSource}, nil, ""},
		{"linkwright's already, whatever happens to it", state.AdoptRules{}, []live{ours}, []string{"ServiceAccount"}, ""},
		{"being deleted", state.AdoptRules{}, []live{deleted}, nil, reason.Terminating},
		{"another installation's", state.AdoptRules{}, []live{theirs}, nil, reason.ObjectExists},
		{"another installation's, which is gone", state.AdoptRules{From: "blue"}, []live{theirs}, []string{"ServiceAccount"}, ""},
	} {
		adopted, why := Target(observation(t, tt.objects...), owner, westEast(api.LegacyToken, api.PerLink), tt.rules)
		check(t, tt.name, adopted, why, tt.want, tt.denied)
	}
}

// check compares kinds of adopted objects, sorted, and the reason of a denial, whose message must name the object.
func check(t *testing.T, name string, adopted []Object, why *object.Reason, want []string, denied reason.Code) {
	t.Helper()
	var kinds []string
	for _, o := range adopted {
		kinds = append(kinds, o.Key.Kind)
	}
	slices.Sort(kinds)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
	switch {
	case denied == "" && why == nil:
	case why == nil || why.Code != denied:
		t.Errorf("%s: denied because of %v, want %q", name, why, denied)
	case !strings.Contains(why.Message, "-east") && !strings.Contains(why.Message, ".west"):
		t.Errorf("%s: the message names no object: %s", name, why.Message)
	}
}

// An adoption writes linkwright's label onto exactly the object that was read. If a Helm release made the object, it also tells Helm to
// keep it.
func TestAdopt(t *testing.T) {
	deployment := live{key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "mc", Name: "controller-east"}}
	released := deployment.with(map[string]string{linkerd.HelmManagedBy: linkerd.HelmManager})
	released.annotations = map[string]string{linkerd.HelmName: "links", linkerd.HelmNamespace: "mc"}
	for name, tt := range map[string]struct {
		object live
		keeps  bool
	}{
		"by hand": {deployment, false},
		"by Helm": {released, true},
	} {
		o := tt.object
		seen := observation(t, o)
		body, _ := seen.Body(o.key)
		end := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
		c := Object{o.key, seen.Record(o.key), body}.Adopt(owner, end)
		if c.Action != object.Adopt || !c.Conditional || c.Was.UID != "uid" || c.End != end || c.Why.Code != reason.Adopted {
			t.Errorf("%s: %+v", name, c)
		}
		var patch struct {
			Metadata struct{ Labels, Annotations map[string]string }
		}
		if err := json.Unmarshal(c.Object.Body.Bytes(), &patch); err != nil {
			t.Fatal(err)
		}
		if patch.Metadata.Labels[object.OwnerLabel] != owner || (patch.Metadata.Annotations[object.HelmPolicy] == object.HelmKeep) != tt.keeps {
			t.Errorf("%s: the patch is %s", name, c.Object.Body.Bytes())
		}
	}
}
