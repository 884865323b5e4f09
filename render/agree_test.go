package render

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// exception is when "no write needed" may be said although a re-apply writes.
type exception struct {
	name, reason string
	holds        func(done []string, live, now *unstructured.Unstructured) bool
}

func exceptions() []exception {
	return []exception{
		{"impostor", "who applies under our manager's name and keeps our digest cannot be told from us", func(done []string, _, _ *unstructured.Unstructured) bool {
			return slices.Contains(done, "impostor")
		}},
		{"overruled", "admission keeps a value of ours out, and somebody else applied it, too: a re-apply takes the field from them, and changes nothing", func(done []string, live, now *unstructured.Unstructured) bool {
			return slices.Contains(done, "overruled") && reflect.DeepEqual(withoutForeignWrites(live), withoutForeignWrites(now))
		}},
	}
}

// withoutForeignWrites is an object without versions, times and entries of other managers.
func withoutForeignWrites(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	u.SetResourceVersion("")
	ours := slices.DeleteFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != object.Manager(object.DefaultOwner)
	})
	for i := range ours {
		ours[i].Time = nil // of the last apply that changed anything
	}
	u.SetManagedFields(ours)
	return u.Object
}

// What we say of metadata alone – no write is needed – is what a real API server says: exactly then a re-apply writes
// nothing. Objects of random declarations, after random writes of others. LINKWRIGHT_AGREE is how many are tried, and
// LINKWRIGHT_SEED repeats a run.
func TestServerAgrees(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	cases, seed := 400, rand.Uint64()
	if n, err := strconv.Atoi(os.Getenv("LINKWRIGHT_AGREE")); err == nil {
		cases = n
	}
	if n, err := strconv.ParseUint(os.Getenv("LINKWRIGHT_SEED"), 10, 64); err == nil {
		seed = n
	}
	j := &agreement{T: t, client: serverWithLinkerd(t), r: rand.New(rand.NewPCG(seed, 0)), writes: map[string]int{}, kinds: map[string]int{}, exceptions: map[string]int{}}
	for _, ns := range []string{"linkerd", "linkerd-multicluster", object.AccessNamespace} {
		ensureNamespace(t, j.client, ns)
	}
	j.admission()
	for ; j.count < cases && j.disagreements < 20; j.count++ {
		j.check()
	}
	t.Logf("seed %d: %d cases, %d said to need no write, by write %v, by kind %v, excused %v", seed, j.count, j.noWrite, j.writes, j.kinds, j.exceptions)
	if j.disagreements > 0 {
		t.Errorf("seed %d: the server disagrees in %d of %d cases", seed, j.disagreements, j.count)
	}
	if j.count >= 400 && (j.noWrite < j.count/20 || j.noWrite > j.count*19/20 || len(j.kinds) < len(Kinds())) {
		t.Errorf("seed %d: %d of %d cases need no write, kinds %v: the test says little", seed, j.noWrite, j.count, j.kinds)
	}
}

// agreement tries what we say against the server.
type agreement struct {
	*testing.T
	client                        dynamic.Interface
	r                             *rand.Rand
	count, noWrite, disagreements int
	writes, kinds                 map[string]int
	exceptions                    map[string]int
}

// check applies an object, lets others write, and asks both sides.
func (j *agreement) check() {
	o := j.desired()
	if _, err := j.apply(o); err != nil {
		j.Fatalf("apply %s: %v", o.Key, err)
	}
	var done []string
	for range 1 + j.r.IntN(2) {
		w := writes()[j.r.IntN(len(writes()))]
		if live := j.live(o); live != nil && w.do(j, o, live) == nil {
			done = append(done, w.name)
			j.writes[w.name]++
		}
	}
	j.kinds[o.Key.Kind]++
	for _, policy := range []string{"admitted", "overruled"} {
		if strings.Contains(o.Key.Name, "-"+policy) {
			j.writes[policy]++
			done = append(done, policy)
		}
	}
	live := j.live(o)
	expected := live != nil && j.covered(o, live)
	now, err := j.apply(o)
	unchanged := err == nil && live != nil && now.GetResourceVersion() == live.GetResourceVersion() && now.GetUID() == live.GetUID()
	if expected {
		j.noWrite++
	}
	if expected == unchanged {
		return
	}
	for _, e := range exceptions() {
		if expected && err == nil && e.holds(done, live, now) {
			j.exceptions[e.name]++
			return
		}
	}
	j.disagreements++
	j.Errorf("%s after %v: no write needed: we say %v, the server %v (%v)\nlive:   %s\nafter:  %s\nwanted: %s", o.Key, done, expected, unchanged, err, encoded(live), encoded(now), o.Body.Bytes())
}

func encoded(u *unstructured.Unstructured) []byte {
	if u == nil {
		return nil
	}
	b, _ := u.MarshalJSON()
	return b
}

// covered is what a plan says, of metadata alone.
func (j *agreement) covered(o object.Object, live *unstructured.Unstructured) bool {
	r := object.Reduce(&metav1.ObjectMeta{
		UID: live.GetUID(), Labels: live.GetLabels(), Annotations: live.GetAnnotations(), ManagedFields: live.GetManagedFields(),
	}, object.DefaultOwner)
	return r.Mark == object.Ours && r.Digest == o.Digest && o.Covered(r)
}

func (j *agreement) resource(o object.Object) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind})
	return j.client.Resource(resource).Namespace(o.Key.Namespace)
}

func (j *agreement) apply(o object.Object) (*unstructured.Unstructured, error) {
	return j.resource(o).Patch(j.Context(), o.Key.Name, types.ApplyPatchType, o.Body.Bytes(),
		metav1.PatchOptions{FieldManager: object.Manager(object.DefaultOwner), Force: new(true), FieldValidation: metav1.FieldValidationStrict})
}

// live waits for what controllers add to a token's Secret, after which nobody but this test writes.
func (j *agreement) live(o object.Object) *unstructured.Unstructured {
	for range 500 {
		live, err := j.resource(o).Get(j.Context(), o.Key.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			j.Fatal(err)
		}
		kind, _, _ := unstructured.NestedString(live.Object, "type")
		_, filled, _ := unstructured.NestedString(live.Object, "data", corev1.ServiceAccountTokenKey)
		if kind != string(corev1.SecretTypeServiceAccountToken) || filled {
			return live
		}
	}
	j.Fatalf("%s gets no token", o.Key)
	return nil
}

// desired is one object of a random declaration, with names of its own.
func (j *agreement) desired() object.Object {
	west, east := fmt.Sprintf("w%d", j.count), fmt.Sprintf("e%d", j.count)
	switch j.r.IntN(8) {
	case 0:
		west, east = west+"-admitted", east+"-admitted"
	case 1:
		west, east = west+"-overruled", east+"-overruled"
	}
	text := j.declared(west, east)
	f, problems := fleet.Load("", fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		j.Fatalf("%v\n%s", problems, text)
	}
	facts := linkerd.Facts{
		UID: "uid", Version: "edge-26.6.3", Domains: linkerd.Domains{Cluster: "cluster.local", Trust: "trust.example.com"},
		Gateway: linkerd.Gateway{
			Addresses: []string{"192.0.2.1", "gw.example.com"}[j.r.IntN(2):], Port: "4143", Identity: "gw.example.com",
			Probe: linkerd.Probe{Path: "/ready", Port: strconv.Itoa(4191 + j.r.IntN(3)), Period: "3s"},
		},
		API: linkerd.Endpoint{Server: "https://east.example.com:6443", CA: "CA"},
	}
	var objects []object.Object
	for l := range f.Links() {
		in := Input{
			Link: l, Source: &facts, Target: &facts, ControlPlaneSecretLive: true,
			Credential: &linkerd.Credential{Token: object.NewSecret([]byte("token")), Fingerprint: "0123456789ab"},
		}
		r := Renderer{Owner: object.DefaultOwner}
		objects = slices.Concat(r.Source(in).Objects, r.Target(in).Objects)
	}
	kind := Kinds()[j.r.IntN(len(Kinds()))].Kind
	of := slices.DeleteFunc(slices.Clone(objects), func(o object.Object) bool { return o.Key.Kind != kind })
	if len(of) == 0 {
		return j.desired()
	}
	o := of[j.r.IntN(len(of))]
	for _, account := range objects { // without one its token goes
		if kind == "Secret" && account.Key.Kind == "ServiceAccount" && account.Key.Namespace == o.Key.Namespace {
			if _, err := j.apply(account); err != nil {
				j.Fatal(err)
			}
		}
	}
	return o
}

func (j *agreement) declared(west, east string) string {
	text := ""
	for _, name := range []string{west, east} {
		text += fmt.Sprintf("---\napiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %s}}}\n", name, name)
	}
	text += fmt.Sprintf("---\napiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: a}\nspec:\n  source: %s\n  target: %s\n", west, east)
	for _, may := range []string{
		"  selector: {matchExpressions: [{key: tier, operator: In, values: [web, api]}]}\n",
		"  remoteDiscoverySelector: {matchLabels: {a: b}}\n",
		"  federatedServiceSelector: {matchLabels: {c: d}, matchExpressions: [{key: e, operator: Exists}]}\n",
		"  excludedLabels: [team, zone.example.com/*]\n",
	} {
		if j.r.IntN(2) == 0 {
			text += may
		}
	}
	controller := []string{
		"replicas: 3, podAntiAffinity: true", "headless: true, logLevel: debug", "podAntiAffinity: true, replicas: 2",
		"resources: {requests: {cpu: 0.5, memory: 1024Mi}, limits: {memory: 2Gi}}", "image: example.com/a:1",
	}
	return text + "  controller: {" + controller[j.r.IntN(len(controller))] + "}\n"
}
