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

// CredentialMark is the annotation of a control plane's secret that says which credential it holds, and how often that changed
// since the secret was made: PRINT.N.
const CredentialMark = object.Prefix + "credential"

// Foreign is the mark of a secret that others made, as far as it is known.
const Foreign = "foreign.0"

// Remarked is the mark of a secret that is to hold what has this print, where the live one has that mark; empty: it is new.
func Remarked(live, fingerprint string) string {
	was, n := marked(live)
	if was != "" && was != fingerprint {
		n++
	}
	return fingerprint + "." + strconv.Itoa(n)
}

// ChangedInPlace reports whether a secret of that mark does not hold what it was made with.
func ChangedInPlace(mark string) bool {
	_, n := marked(mark)
	return n > 0
}

// marked reads a mark; what is none is as none.
func marked(mark string) (fingerprint string, n int) {
	fingerprint, count, _ := strings.Cut(mark, ".")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return "", 0
	}
	return fingerprint, n
}

// MarkOf is the mark in a secret's metadata, empty where there is none.
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

// Told is what a destination controller was told, and when: marks of secrets, sorted.
type Told struct {
	At    time.Time
	Marks []string
}

// ToldAnnotation is that of an installation on the pod template; another one has another, so that they do not take turns.
func ToldAnnotation(owner string) string {
	return object.Prefix + "credentials" + strings.TrimPrefix(object.Manager(owner), object.DefaultOwner)
}

// ToldOf reads what stands on a live Deployment's pod template; what nobody of us wrote is as nothing.
func ToldOf(owner string, deployment object.Body) Told {
	var d struct {
		Spec struct {
			Template struct {
				Metadata struct{ Annotations map[string]string }
			}
		}
	}
	if json.Unmarshal(deployment.Bytes(), &d) != nil {
		return Told{}
	}
	at, marks, _ := strings.Cut(d.Spec.Template.Metadata.Annotations[ToldAnnotation(owner)], " ")
	moment, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return Told{}
	}
	return Told{At: moment, Marks: strings.Split(marks, ",")}
}

// Lacks returns those of marks that were not told.
func (t Told) Lacks(marks []string) (out []string) {
	for _, m := range marks {
		if !slices.Contains(t.Marks, m) {
			out = append(out, m)
		}
	}
	return out
}

// Part is what has the Deployment told: nothing of it but the annotation.
func (t Told) Part(owner string, l api.Linkerd) object.Object {
	key := Destination(l)
	m := object.Members(`{"apiVersion":"apps/v1","kind":"Deployment"`)
	m.Open("metadata")
	m.Text("name", key.Name)
	m.Text("namespace", key.Namespace)
	m.Close()
	for _, name := range []string{"spec", "template", "metadata", "annotations"} {
		m.Open(name)
	}
	m.Text(ToldAnnotation(owner), t.At.UTC().Format(time.RFC3339)+" "+strings.Join(t.Marks, ","))
	for range 5 {
		m.Close()
	}
	return object.Object{Key: key, Version: "v1", Body: object.NewBody(m), Phase: object.PhaseExtras, Part: true}
}
