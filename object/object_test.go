package object

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"
)

func sealed(t *testing.T, owner string, data map[string]string) Object {
	t.Helper()
	c := coreac.ConfigMap("a", "ns").WithData(data)
	o, err := New(Spec{
		Key: Key{Kind: "ConfigMap", Namespace: "ns", Name: "a"}, Version: "v1", Phase: PhaseExtras,
		Owner: owner, Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The digest is a persisted format: another one would write every object of every cluster anew.
func TestDigestIsStable(t *testing.T) {
	o := sealed(t, "linkwright", map[string]string{"b": "2", "a": "<1>"})
	const bare = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","labels":{"linkwright.dev/owner":"linkwright","velero.io/exclude-from-backup":"true"}%s},"data":{"a":"\u003c1\u003e","b":"2"}}`
	if want := sum([]byte(fmt.Sprintf(bare, ""))); o.Digest != want {
		t.Errorf("digest: got %x, want %x, that of the JSON without its annotation", o.Digest, want)
	}
	if want := fmt.Sprintf(bare, `,"annotations":{"linkwright.dev/digest":"`+FormatDigest(o.Digest)+`"}`); string(o.Body.Bytes()) != want {
		t.Errorf("body: got %s, want %s", o.Body.Bytes(), want)
	}
	if got := FormatDigest(o.Digest); got != goldenDigest {
		t.Errorf("digest: got %s, want %s", got, goldenDigest)
	}
	if parseDigest(FormatDigest(o.Digest)) != o.Digest {
		t.Error("the digest does not come back from its annotation")
	}
	for range 20 {
		if again := sealed(t, "linkwright", map[string]string{"a": "<1>", "b": "2"}); again.Digest != o.Digest || string(again.Body.Bytes()) != string(o.Body.Bytes()) {
			t.Fatalf("digest: got %x, want %x", again.Digest, o.Digest)
		}
	}
	if other := sealed(t, "blue", map[string]string{"a": "<1>", "b": "2"}); other.Digest == o.Digest {
		t.Error("another owner's object has the same digest")
	}
}

const goldenDigest = "dc189d4df4601fde"

func TestWrittenIsOursAndCovered(t *testing.T) {
	o := sealed(t, "linkwright", map[string]string{"a": "1"})
	if r := Written(o); r.IsZero() || r.Mark != Ours || r.Digest != o.Digest || !o.Covered(r) {
		t.Errorf("Written: got %+v", r)
	}
}

func TestWords(t *testing.T) {
	if got := fmt.Sprint(None, Create, Update, Patch, Replace, Drain, Release, Delete); got != "none create update patch replace drain release delete" {
		t.Errorf("actions: got %s", got)
	}
	var takes []string
	for a := None; a <= Delete; a++ {
		if a.Removes() {
			takes = append(takes, a.String())
		}
	}
	if got := strings.Join(takes, " "); got != "replace drain release delete" {
		t.Errorf("actions that take: got %s", got)
	}
	keys := []Key{{Group: "apps", Kind: "Deployment", Namespace: "b", Name: "a"}, {Kind: "Secret", Namespace: "b", Name: "a"}, {Kind: "Namespace", Name: "a"}, {Kind: "Secret", Namespace: "a", Name: "b"}}
	slices.SortFunc(keys, Key.Compare)
	if got := fmt.Sprint(keys); got != "[Namespace a Secret a/b Secret b/a Deployment.apps b/a]" {
		t.Errorf("keys in order: got %s", got)
	}
	if Manager(DefaultOwner) != "linkwright" || Manager("blue") != "linkwright-blue" {
		t.Errorf("managers: got %s, %s", Manager(DefaultOwner), Manager("blue"))
	}
}

// Seal marks data as New marks a typed configuration: what was sealed once and is sealed again is the same.
func TestSeal(t *testing.T) {
	o := sealed(t, "linkwright", map[string]string{"a": "1"})
	spec := Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: "linkwright"}
	content, err := decode(o.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	once, err := Seal(spec, content)
	if err != nil || once.Key != o.Key || once.Version != "v1" || once.Phase != PhaseExtras {
		t.Fatalf("Seal: %+v, %v", once, err)
	}
	again, _ := decode(once.Body.Bytes())
	if twice, err := Seal(spec, again); err != nil || twice.Digest != once.Digest || string(twice.Body.Bytes()) != string(once.Body.Bytes()) {
		t.Errorf("sealed twice: %s, %v, want %s", twice.Body.Bytes(), err, once.Body.Bytes())
	}
	if !strings.Contains(string(once.Body.Bytes()), `"linkwright.dev/digest":"`+FormatDigest(once.Digest)+`"`) {
		t.Errorf("no digest in %s", once.Body.Bytes())
	}
	bare, _ := decode([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`))
	marked, err := Seal(spec, bare)
	if err != nil || !strings.Contains(string(marked.Body.Bytes()), `"linkwright.dev/owner":"linkwright"`) {
		t.Errorf("Seal without labels: %s, %v", marked.Body.Bytes(), err)
	}
	if _, err := Seal(spec, map[string]any{"kind": "ConfigMap"}); err == nil {
		t.Error("content without metadata was sealed")
	}
}
