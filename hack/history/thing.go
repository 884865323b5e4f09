package history

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// maker is who made an object, as it was seen to happen: what the code under test believes is not asked.
type maker uint8

const (
	others    maker = iota // people, their tools, Kubernetes: nothing of theirs may ever be written or deleted
	ours                   // our own write created it, and nobody took our mark off since
	mirroring              // a controller of Linkerd's
)

// thing is one live object. It is never changed, but replaced, so that observations may share it.
type thing struct {
	key      object.Key
	rec      object.Record
	body     object.Body
	by       maker
	end      object.End      // of ours: for which it was written
	target   api.ClusterName // of mirroring: whose controller made it
	since    int             // of others: the event at which it was made, or given up
	kept     int             // the event at which people marked it to be kept
	token    string          // of a token Secret
	account  string          // uid of the account that token is of
	shaped   bool            // of others: it looks as Linkerd's own tools make it, since it was ours
	hung     bool            // it has a finalizer: deleted, it stays
	orphan   bool            // nothing tells of it any more: see forget
	dressing bool            // Linkerd's installation, which no history touches

	told *told
}

// told is what is read from a body: nothing until somebody asks.
type told struct {
	meta   *metav1.ObjectMeta
	only   object.Body
	spec   *linkerd.LinkSpec
	sealed bool
}

func (t *thing) tell() *told {
	if t.told == nil {
		t.told = &told{}
	}
	if t.told.meta == nil {
		var o struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if len(t.body.Bytes()) > 0 {
			must(json.Unmarshal(t.body.Bytes(), &o))
		}
		t.told.meta = &o.Metadata
	}
	return t.told
}

func (t *thing) meta() *metav1.ObjectMeta { return t.tell().meta }

// metadata is the object without anything else, as who asks for no more is answered.
func (t *thing) metadata() object.Body {
	if told := t.tell(); !told.sealed {
		told.only, told.sealed = encoded(map[string]any{"metadata": told.meta}), true
	}
	return t.told.only
}

// link is the spec of a Linkerd Link.
func (t *thing) link() *linkerd.LinkSpec {
	told := t.tell()
	if told.spec == nil {
		var l struct{ Spec linkerd.LinkSpec }
		must(json.Unmarshal(t.body.Bytes(), &l))
		told.spec = &l.Spec
	}
	return told.spec
}

// at is the body by depth.
func (t *thing) at(d object.Depth) object.Body {
	switch d {
	case object.Reduced:
		return object.Body{}
	case object.Metadata:
		return t.metadata()
	}
	return t.body
}

// edited is the thing with a body that somebody changed.
func (t *thing) edited(change func(map[string]any)) *thing {
	var content map[string]any
	must(json.Unmarshal(t.body.Bytes(), &content))
	change(content)
	next := *t
	next.body, next.told = encoded(content), nil
	return &next
}

// field returns the map at a path, which is made where it is missing.
func field(content map[string]any, path ...string) map[string]any {
	for _, name := range path {
		below, ok := content[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			content[name] = below
		}
		content = below
	}
	return content
}

func encoded(v any) object.Body {
	b, err := json.Marshal(v)
	must(err)
	return object.NewBody(b)
}

// must ends a history that is no history: what fails here is the harness itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// apiVersion is that of a kind as everybody writes it here.
func apiVersion(k object.Key) string {
	switch k.Group {
	case "":
		return "v1"
	case linkerd.Group:
		return k.Group + "/" + linkerd.LinkVersion
	}
	return k.Group + "/v1"
}

// content is an object as somebody writes it, with labels.
func content(k object.Key, labels map[string]string, more map[string]any) map[string]any {
	meta := map[string]any{"name": k.Name}
	if k.Namespace != "" {
		meta["namespace"] = k.Namespace
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	out := map[string]any{"apiVersion": apiVersion(k), "kind": k.Kind, "metadata": meta}
	maps.Copy(out, more)
	return out
}

// isInventory reports whether a key has the name of one of our inventories.
func isInventory(k object.Key) bool {
	return k.Kind == "ConfigMap" && k.Namespace == object.AccessNamespace && strings.HasPrefix(k.Name, owner+".")
}

// content is a thing's digest; of a control plane's secret one of what it holds, since it also counts how often that changed, and of
// an inventory without conditions.
func (t *thing) content() uint64 {
	if t.key.Kind != "Secret" || t.key.Namespace != cp {
		return t.lasting()
	}
	plain := t.edited(func(o map[string]any) {
		annotations := field(o, "metadata", "annotations")
		delete(annotations, linkerd.CredentialMark)
		delete(annotations, object.DigestAnnotation)
	})
	h := fnv.New64a()
	h.Write(plain.body.Bytes())
	return h.Sum64()
}

// lasting is the digest of what stays as it is while nothing is declared otherwise: conditions tell of the way there, too.
func (t *thing) lasting() uint64 {
	if !isInventory(t.key) {
		return t.rec.Digest
	}
	seen := object.Observation{}.Edit()
	seen.Put(t.key, t.rec, t.body)
	all, err := inventory.Read(owner, seen.Observation())
	if err != nil || len(all) == 0 {
		return t.rec.Digest
	}
	all[0].Conditions = nil
	o, err := all[0].Object(owner)
	must(err)
	return o.Digest
}

// conditions are those of an inventory, but for the moment since which they stand.
func (t *thing) conditions() (out string) {
	if !isInventory(t.key) {
		return ""
	}
	seen := object.Observation{}.Edit()
	seen.Put(t.key, t.rec, t.body)
	if all, err := inventory.Read(owner, seen.Observation()); err == nil && len(all) > 0 {
		for _, c := range all[0].Conditions {
			out += fmt.Sprintf("%s %s %s;", c.Type, c.Status, c.Reason)
		}
	}
	return out
}
