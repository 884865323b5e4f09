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

// madeBy is who made an object in the simulation, whatever the code under test concludes.
type madeBy uint8

const (
	byOthers     madeBy = iota // people, their tools, Kubernetes: nothing of theirs may ever be written or deleted
	byLinkwright               // our own write created it, and nobody took our mark off since
	byLinkerd                  // a controller of Linkerd's
)

// simObject is one live object. It is immutable, so that observations may share it.
type simObject struct {
	key            object.Key
	rec            object.Record
	body           object.Body
	madeBy         madeBy
	end            object.End      // of ours: for which it was written
	target         api.ClusterName // of mirroring: whose controller made it
	since          int             // of others: the event at which it was made, or given up
	protectedSince int             // the event at which people marked it to be kept
	token          string          // of a token Secret
	account        string          // uid of the account that token is of
	shaped         bool            // of others: it looks as Linkerd's own tools make it, since it was ours
	hasFinalizer   bool            // it has a finalizer: deleted, it stays
	orphan         bool            // nothing tells of it any more: see forget
	ofLinkerd      bool            // Linkerd's installation, which no history touches

	decoded *decoded
}

// decoded is the decoded body, decoded when needed.
type decoded struct {
	meta   *metav1.ObjectMeta
	only   object.Body
	spec   *linkerd.LinkSpec
	sealed bool
}

func (t *simObject) decode() *decoded {
	if t.decoded == nil {
		t.decoded = &decoded{}
	}
	if t.decoded.meta == nil {
		var o struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if len(t.body.Bytes()) > 0 {
			must(json.Unmarshal(t.body.Bytes(), &o))
		}
		t.decoded.meta = &o.Metadata
	}
	return t.decoded
}

func (t *simObject) meta() *metav1.ObjectMeta { return t.decode().meta }

// metadata is the object's metadata alone.
func (t *simObject) metadata() object.Body {
	if told := t.decode(); !told.sealed {
		told.only, told.sealed = encoded(map[string]any{"metadata": told.meta}), true
	}
	return t.decoded.only
}

// link is the spec of a Linkerd Link.
func (t *simObject) link() *linkerd.LinkSpec {
	told := t.decode()
	if told.spec == nil {
		var l struct{ Spec linkerd.LinkSpec }
		must(json.Unmarshal(t.body.Bytes(), &l))
		told.spec = &l.Spec
	}
	return told.spec
}

// at is the body by depth.
func (t *simObject) at(d object.Depth) object.Body {
	switch d {
	case object.Reduced:
		return object.Body{}
	case object.Metadata:
		return t.metadata()
	}
	return t.body
}

// edited is the object with a changed body.
func (t *simObject) edited(change func(map[string]any)) *simObject {
	var content map[string]any
	must(json.Unmarshal(t.body.Bytes(), &content))
	change(content)
	next := *t
	next.body, next.decoded = encoded(content), nil
	return &next
}

// field returns the map at a path, and creates it if it is missing.
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

// must panics on errors of the simulator itself.
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

// isInventory reports whether a key has the name of an inventory.
func isInventory(k object.Key) bool {
	return k.Kind == "ConfigMap" && k.Namespace == object.AccessNamespace && strings.HasPrefix(k.Name, owner+".")
}

// digest is a thing's digest; of a control plane's secret one of what it holds, since it also counts how often that changed, and of
// an inventory without conditions.
func (t *simObject) digest() uint64 {
	if t.key.Kind != "Secret" || t.key.Namespace != cp {
		return t.lastingDigest()
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

// lastingDigest is the digest of what stays as it is while nothing is declared otherwise: conditions tell of the way there, too.
func (t *simObject) lastingDigest() uint64 {
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
func (t *simObject) conditions() (out string) {
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
