// Package pair answers: where does a link stand, and which credential must it hold?
package pair

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Side is one cluster as last seen. Known is false until its first complete observation; Err then
// says why. Looked is what was asked for: what no watch of it covers is unknown, not absent.
type Side struct {
	Known      bool
	Err        *object.Reason
	Answered   bool // it gave an answer, though it could not be read as a whole
	Seen       object.Observation
	Looked     []object.Watch
	Everything bool // simulated: whatever is not in Seen is not there
	Facts      linkerd.Facts
	StandIns   map[api.ClusterName]linkerd.Facts // by second names, of a cluster that nobody reads; nil: they are read live
	// Gap says why admission policies do not confine linkwright's account there; empty: they do. Anyone: it is no ServiceAccount, so
	// that none could.
	Gap    string
	Anyone bool
	Pass   int // in which it was read by requests, or could not be
	// Stale is since when it cannot be read, though it could before; zero: it can, or nobody knows since when.
	Stale time.Time
}

// As are the facts of the cluster by one of its names: a second name has a gateway of its own.
func (s Side) As(c *fleet.Cluster) linkerd.Facts {
	if c.Spec.SameAs == "" {
		return s.Facts
	}
	if facts, ok := s.StandIns[c.Name]; ok {
		return facts
	}
	return s.Facts.By(c.Spec, s.Seen)
}

// View is a link with both its ends as seen: all that is decided about a pair is a function of it.
type View struct {
	Link           fleet.Link
	Source, Target Side
	Proof          *Proof         // of its credential; nil: none was tried yet
	Undiscovered   *object.Reason // why the source's control plane has no credential, and its Link names no selector that takes one; nil: it may have
	Loading        Verdict        // whether its source's control plane runs with its credential; zero: it always does, once that is written
}

// Saw says whether the key was looked for, and may be read: only then does "not seen" mean "not there". Namespaced
// watches cover their namespace, named ones their names; a watch narrowed by a selector covers nothing.
func (s Side) Saw(k object.Key) bool {
	if !s.Known || s.Everything {
		return s.Known
	}
	for _, w := range s.Looked {
		if w.Group == k.Group && w.Kind == k.Kind && w.Selector == "" && covers(w, k) {
			return s.Seen.Hides(k) == nil
		}
	}
	return false
}

func covers(w object.Watch, k object.Key) bool {
	if w.Namespace != "" && w.Namespace != k.Namespace {
		return false
	}
	return len(w.Names) == 0 || slices.Contains(w.Names, k.Name)
}

// Credential is the token that the target's token controller issued for the source's account, read
// from the Secret token; nil while there is none.
func (v View) Credential(token object.Key) (*linkerd.Credential, error) {
	body, ok := v.Target.Seen.Body(token)
	if !ok || v.Target.Seen.Record(token).Mark != object.Ours {
		return nil, nil //nolint:nilnil // no credential yet is an answer, not a failure
	}
	value, err := dataOf(body, corev1.ServiceAccountTokenKey)
	if err != nil {
		return nil, fmt.Errorf("read %s: it is no Secret", token) // the cause could quote the secret
	}
	if len(value) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	t := object.NewSecret(value)
	return v.credential(t), nil
}

// credential is a token as it is used: with another address or CA of the target it is another credential, for its readers hold all
// three. Its print is keyed with the source's identity.
func (v View) credential(token object.Secret) *linkerd.Credential {
	at := v.Target.Facts.API
	return &linkerd.Credential{Token: token, Print: token.Print(v.Source.Facts.UID, at.Server, at.CA)}
}

// dataOf is one value of a Secret, empty where it has none. What stands where every server writes it is found without
// decoding the rest.
func dataOf(secret object.Body, key string) ([]byte, error) {
	if text, ok := secret.Text("data", key); ok {
		return base64.StdEncoding.DecodeString(text)
	}
	var s corev1.Secret
	err := json.Unmarshal(secret.Bytes(), &s)
	return s.Data[key], err
}
