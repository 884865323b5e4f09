package linkerd

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// DestinationName is the name of the Deployment of Linkerd's destination controller (linkerd2 charts/linkerd-control-plane).
const DestinationName = "linkerd-destination"

// Destination is the key of that Deployment. It reads a credential Secret when that appears, and never again
// (linkerd2 controller/api/destination/watcher/cluster_store.go).
func Destination(l api.Linkerd) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: l.Namespace, Name: DestinationName}
}

// CredentialMark is the annotation of a control plane's secret with the fingerprint of its credential, and how often that changed
// since the secret was made: FINGERPRINT.N.
const CredentialMark = object.Prefix + "credential"

// Foreign is the mark of a secret that others made.
const Foreign = "foreign.0"

// NextMark is the next mark of a secret whose live mark is given (empty: it is new), for a credential with this fingerprint.
func NextMark(live, fingerprint string) string {
	was, n := parseMark(live)
	if was != "" && was != fingerprint {
		n++
	}
	return fingerprint + "." + strconv.Itoa(n)
}

// ChangedInPlace reports whether a secret with that mark was changed since it was made.
func ChangedInPlace(mark string) bool {
	_, n := parseMark(mark)
	return n > 0
}

// parseMark reads a mark; an invalid one is as none.
func parseMark(mark string) (fingerprint string, n int) {
	fingerprint, count, _ := strings.Cut(mark, ".")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return "", 0
	}
	return fingerprint, n
}

// MarkOf is the mark in a secret's metadata; empty: none.
func MarkOf(secret object.Body) string {
	if mark, ok := secret.Text("metadata", "annotations", CredentialMark); ok {
		return mark
	}
	var s struct {
		Metadata struct{ Annotations map[string]string }
	}
	if json.Unmarshal(secret.Bytes(), &s) != nil {
		return ""
	}
	return s.Metadata.Annotations[CredentialMark]
}

// Loaded are the marks of the secrets that a restart of the destination controller loaded, sorted, and when it was.
type Loaded struct {
	At    time.Time
	Marks []string
}

// LoadedAnnotation is the annotation of an installation on the pod template. Each installation has its own, so that two do not
// overwrite each other's.
func LoadedAnnotation(owner string) string {
	return object.Prefix + "credentials" + strings.TrimPrefix(object.Manager(owner), object.DefaultOwner)
}

// LoadedOf reads the annotation from a live Deployment's pod template; an invalid one is as none.
func LoadedOf(owner string, deployment object.Body) Loaded {
	var d struct {
		Spec struct {
			Template struct {
				Metadata struct{ Annotations map[string]string }
			}
		}
	}
	if json.Unmarshal(deployment.Bytes(), &d) != nil {
		return Loaded{}
	}
	at, marks, _ := strings.Cut(d.Spec.Template.Metadata.Annotations[LoadedAnnotation(owner)], " ")
	moment, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return Loaded{}
	}
	return Loaded{At: moment, Marks: strings.Split(marks, ",")}
}

// NotLoaded returns the marks that are not loaded.
func (t Loaded) NotLoaded(marks []string) (out []string) {
	for _, m := range marks {
		if !slices.Contains(t.Marks, m) {
			out = append(out, m)
		}
	}
	return out
}

// Part is the Deployment with nothing but the annotation; applying it restarts the pods.
func (t Loaded) Part(owner string, l api.Linkerd) object.Object {
	key := Destination(l)
	m := object.Members(`{"apiVersion":"apps/v1","kind":"Deployment"`)
	m.Open("metadata")
	m.Text("name", key.Name)
	m.Text("namespace", key.Namespace)
	m.Close()
	for _, name := range []string{"spec", "template", "metadata", "annotations"} {
		m.Open(name)
	}
	m.Text(LoadedAnnotation(owner), t.At.UTC().Format(time.RFC3339)+" "+strings.Join(t.Marks, ","))
	for range 5 {
		m.Close()
	}
	return object.Object{Key: key, Version: "v1", Body: object.NewBody(m), Phase: object.PhaseExtras, Part: true}
}
