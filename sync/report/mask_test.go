package report

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// canary is a secret without any form that gives it away; jwt has one. Neither may be seen anywhere.
const (
	canary = "canary~7f3a9c51-not/to+be=seen"
	jwt    = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLW9mLWEtY2FuYXJ5"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// kubeconfigOf is what package linkerd renders.
func kubeconfigOf(token string) string {
	return `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"east","cluster":{"server":"https://east.example.com:6443"}}],` +
		`"users":[{"name":"linkwright.west","user":{"token":"` + token + `"}}],"contexts":[{"name":"east"}],"current-context":"east"}`
}

func yamlConfigOf(token string) string {
	return "kind: Config\nclusters: []\ncontexts: []\nusers:\n- name: a\n  user:\n    token: " + token + "\n"
}

// quoted is s as a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// hostile are bodies by what they try.
func hostile() map[string]ObjectDiff {
	put := func(kind, body string) ObjectDiff {
		return ObjectDiff{Action: object.Update, Key: key(kind, "x"), Before: object.NewBody([]byte(body))}
	}
	return map[string]ObjectDiff{
		"data":                   put("Secret", `{"kind":"Secret","data":{"token":"`+b64(canary)+`"}}`),
		"string data":            put("Secret", `{"kind":"Secret","stringData":{"token":`+quoted(canary)+`}}`),
		"data that is no base64": put("Secret", `{"kind":"Secret","data":{"token":`+quoted(canary)+`}}`),
		"data of another shape":  put("Secret", `{"kind":"Secret","data":[{"a":[`+quoted(canary)+`]}],"stringData":`+quoted(canary)+`}`),
		"a misspelt field":       put("Secret", `{"kind":"Secret","Data":{"token":`+quoted(canary)+`}}`),
		"a patch without a kind": put("Secret", `{"data":{"token":"`+b64(canary)+`"}}`),
		"a key of another kind":  put("ConfigMap", `{"kind":"Secret","data":{"token":"`+b64(canary)+`"}}`),
		"a secret that is cut":   put("Secret", `{"kind":"Secret","data":{"token":"`+b64(canary)+`"`),
		"two values in a body":   put("Secret", `{"kind":"Secret"}{"data":{"token":"`+b64(canary)+`"}}`),
		"a list":                 put("ConfigMap", `[`+quoted(canary)+`]`),
		"no JSON":                put("ConfigMap", `data: `+canary),
		"kubectl's memory":       put("Secret", `{"kind":"Secret","metadata":{"annotations":{"`+lastApplied+`":`+quoted(`{"data":{"t":"`+b64(canary)+`"}}`)+`}}}`),
		"a kubeconfig":           put("ConfigMap", `{"data":{"kubeconfig.json":`+quoted(kubeconfigOf(canary))+`}}`),
		"a kubeconfig in YAML":   put("ConfigMap", `{"data":{"c":`+quoted(yamlConfigOf(canary))+`}}`),
		"an encoded kubeconfig":  put("ConfigMap", `{"binaryData":{"c":"`+b64(yamlConfigOf(canary))+`"}}`),
		"JSON in JSON":           put("ConfigMap", `{"data":{"c":`+quoted(`{"a":[{"token":`+quoted(canary)+`}]}`)+`}}`),
		"a variable":             put("Deployment", `{"spec":{"env":[{"name":"GIT_TOKEN","value":`+quoted(canary)+`}]}}`),
		"an argument":            put("Deployment", `{"spec":{"args":["--token=`+canary+`"]}}`),
		"a field":                put("Link", `{"spec":{"auth":{"client-secret":`+quoted(canary)+`,"accessToken":`+quoted(canary)+`}}}`),
		"a number":               put("Secret", `{"kind":"Secret","data":{"pin":773311559900}}`),
		"a JWT":                  put("Link", `{"metadata":{"annotations":{"a":"x `+jwt+` y"}},"spec":{"a":"`+jwt+`"}}`),
		"an encoded JWT":         put("Link", `{"spec":{"a":"`+b64("x"+jwt)+`","b":"`+b64(jwt)+`"}}`),
		"a private key":          put("ConfigMap", `{"data":{"k":"-----BEGIN EC PRIVATE KEY-----\n`+canary+`\n-----END EC PRIVATE KEY-----\n"}}`),
		"a URL":                  put("ConfigMap", `{"data":{"u":"https://me:canary~7f3a9c51-not@git.example.com/x"}}`),
	}
}

// shows says which form of a secret a text holds.
func shows(text string) (string, bool) {
	var all []string
	for _, v := range []string{canary, "canary~7f3a9c51-not", "773311559900", jwt, strings.Split(jwt, ".")[2]} {
		all = append(all, forms(v)...)
	}
	for _, f := range all {
		if strings.Contains(text, f) {
			return f, true
		}
	}
	return "", false
}

// everyFormat gives what each format makes of it, in one text.
func everyFormat(t *testing.T, write func(*strings.Builder, Format) error) string {
	t.Helper()
	var b strings.Builder
	for _, f := range []Format{Text, Markdown, JSON} {
		if err := write(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestDiffShowsNoSecret(t *testing.T) {
	for what, o := range hostile() {
		for _, d := range []ObjectDiff{o, {Action: object.Create, Key: o.Key, After: o.Before}} {
			diff := Diff{Clusters: []ClusterDiff{{Name: "west", Objects: []ObjectDiff{d}}}}
			for _, key := range []func(api.ClusterName) string{nil, keyOf} {
				got := everyFormat(t, func(b *strings.Builder, f Format) error { return diff.Write(b, f, key) })
				if form, ok := shows(got); ok {
					t.Errorf("%s: the diff shows %s:\n%s", what, form, got)
				}
			}
		}
	}
}

// echoed is a diff in which messages, annotations and another cluster repeat what a Secret holds.
func echoed() Diff {
	says := object.Because("Odd", "server said: %s, that is %q, or %s", canary, kubeconfigOf(canary), b64("xy"+kubeconfigOf(canary)))
	secret := ObjectDiff{
		Action: object.Create, Key: key("Secret", "x"), Why: *says,
		After: object.NewBody([]byte(`{"kind":"Secret","data":{"kubeconfig":"` + b64(kubeconfigOf(canary)) + `"}}`)),
	}
	note := ObjectDiff{
		Action: object.Create, Key: key("Link", "x"), Why: *says,
		After: object.NewBody([]byte(`{"metadata":{"annotations":{"note":` + quoted(canary+" "+b64("1"+canary)) + `}},"spec":{` + quoted(canary) + `:1}}`)),
	}
	return Diff{
		Problems: []api.Problem{{Message: says.Message, Hint: canary}},
		Clusters: []ClusterDiff{
			{Name: "east", Objects: []ObjectDiff{note}},
			{Name: "north", Denied: says},
			{Name: "west", Objects: []ObjectDiff{secret}, Rows: []plan.Row{{End: at("west", link("west", "east")), Phase: plan.Blocked, Why: says}}},
		},
	}
}

func TestDiffRepeatsNoSecret(t *testing.T) {
	got := everyFormat(t, func(b *strings.Builder, f Format) error { return echoed().Write(b, f, keyOf) })
	if form, ok := shows(got); ok {
		t.Errorf("the diff shows %s:\n%s", form, got)
	}
}

// Of a message, only the value is hidden; one that repeats a kubeconfig is not told at all.
func TestMessage(t *testing.T) {
	secret := echoed().Clusters[2].Objects[0]
	m := redacting([]keyed{{secret.Key, secret.After}})
	for in, want := range map[string]string{
		"server said: " + canary + "\nand \x1b[1mmore": "server said: <redacted>; and [1mmore",
		"token " + jwt + " expired":                    "token <redacted> expired",
		"get https://me:" + "x@example.com: refused":   "get https://<redacted>@example.com: refused",
		"sent " + kubeconfigOf("other") + " to x":      "<redacted>",
	} {
		if got := m.line(in); got != want {
			t.Errorf("line(%q): %q, want %q", in, got, want)
		}
	}
}

func TestReportRepeatsNoSecret(t *testing.T) {
	d := echoed()
	r := Report{Err: d.Problems[0].Message + " " + jwt, Problems: d.Problems, Commit: commit}
	end := at("west", link("west", "east"))
	written := object.Change{
		End: end, Action: object.Create, Key: key("Secret", "x"), Why: *d.Clusters[1].Denied,
		Object: object.Object{Body: d.Clusters[2].Objects[0].After},
	}
	failed := errors.New("invalid: " + d.Problems[0].Message + " at https://me:" + canary + "@example.com")
	r.Clusters = []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Denied: d.Clusters[1].Denied}},
		{Name: "north", Step: plan.Step{Cluster: "north", Changes: []object.Change{written}}},
		{Name: "west", Step: plan.Step{Cluster: "west", Rows: d.Clusters[2].Rows}, Outcomes: []object.Outcome{{Change: written}, {Change: written, Err: failed}}},
	}
	for what, write := range map[string]func(*strings.Builder, Format) error{
		"report": func(b *strings.Builder, f Format) error { return r.Write(b, f) },
		"status": func(b *strings.Builder, f Format) error { return r.StatusAnswer().Write(b, f) },
	} {
		if form, ok := shows(everyFormat(t, write)); ok {
			t.Errorf("the %s shows %s", what, form)
		}
	}
}

// What is public stays readable: a mask that hides everything tells nothing.
func TestMaskLeavesWhatIsPublic(t *testing.T) {
	const public = `{"apiVersion":"v1","kind":"Deployment","metadata":{"annotations":{"example.com/token":"public-note"},"name":"linkerd-service-mirror-east"},` +
		`"spec":{"args":["-log-level=info","linkerd-multicluster","https://east.example.com:6443"],"automountServiceAccountToken":false,` +
		`"clusterCredentialsSecret":"cluster-credentials-east","env":[{"name":"A","value":"b"}],` +
		`"excludedAnnotations":["linkwright.dev/credential-0123456789ab"],"secretKeyRef":{"key":"token","name":"x"}}}`
	tree, ok := decode([]byte(public))
	if !ok {
		t.Fatal("not JSON")
	}
	tokens := keyed{key("Secret", "t"), object.NewBody([]byte(`{"kind":"Secret","data":{"namespace":"` + b64("linkerd-multicluster") + `","ca.crt":"` + b64("-----BEGIN CERTIFICATE-----") + `"}}`))}
	got, err := json.Marshal(redacting([]keyed{tokens}).hashing("k").value("", tree))
	if err != nil || string(got) != public {
		t.Errorf("value: %v\n-%s\n+%s", err, public, got)
	}
	for _, message := range []string{
		"Unauthorized (the API server does not accept the credentials: renew them)", "create token: invalid bearer token: expired",
		"clone ssh://git@example.com/x.git", "secrets \"cluster-credentials-east\" is forbidden",
	} {
		if got := redacting(nil).line(message); got != message {
			t.Errorf("line(%q): %q", message, got)
		}
	}
}

// The hash tells that a value changed, whichever field it is in and whatever surrounds it.
func TestHash(t *testing.T) {
	m := redacting(nil).hashing("uid")
	one, _ := m.shown(key("Secret", "x"), object.NewBody([]byte(`{"data":{"a":"`+b64(canary)+`"}}`))).(map[string]any)
	two, _ := m.shown(key("Secret", "x"), object.NewBody([]byte(`{"stringData":{"a":`+quoted(canary)+`}}`))).(map[string]any)
	want := "<hash " + object.NewSecret([]byte(canary)).Fingerprint("uid") + ">"
	if got := fmt.Sprint(one["data"], two["stringData"]); got != "map[a:"+want+"] map[a:"+want+"]" {
		t.Errorf("shown: %s, want %s twice", got, want)
	}
	if other := redacting(nil).hashing("another uid").hash(canary); other == want {
		t.Error("the hash does not depend on the key")
	}
}

// BenchmarkFirstPass tells a first pass over 20 clusters, each linked with each other.
func BenchmarkFirstPass(b *testing.B) {
	r := Report{Commit: commit}
	for i := range 20 {
		c := Cluster{Name: api.ClusterName(fmt.Sprint("c", i)), Step: step("x")}
		for j := range 19 {
			end := at(c.Name, link(c.Name, api.ClusterName(fmt.Sprint("t", j))))
			o := wrote(end, object.Create, key("Secret", fmt.Sprint("s", j)), nil)
			o.Change.Object.Body = object.NewBody([]byte(`{"kind":"Secret","data":{"kubeconfig":"` + b64(kubeconfigOf(fmt.Sprint(jwt, i, j, strings.Repeat("x", 800)))) + `"}}`))
			c.Outcomes = append(c.Outcomes, o)
			for k := range 9 {
				c.Outcomes = append(c.Outcomes, wrote(end, object.Create, key("Service", fmt.Sprint("s", j, k)), nil))
			}
		}
		r.Clusters = append(r.Clusters, c)
	}
	for b.Loop() {
		var out strings.Builder
		if err := r.Write(&out, JSON); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever stands around a value of a Secret, and however torn the body is, the value is not shown.
func FuzzSecret(f *testing.F) {
	for _, o := range hostile() {
		for _, secret := range []string{canary, b64(canary)} {
			if head, tail, ok := strings.Cut(string(o.Before.Bytes()), secret); ok {
				f.Add(head, tail)
			}
		}
	}
	f.Fuzz(func(t *testing.T, head, tail string) {
		const secret = "canary7f3a9c51nottobeseen"
		raw := head + secret + tail
		if tree, ok := decode([]byte(raw)); ok && public(tree, secret) {
			t.Skip()
		}
		d := Diff{Clusters: []ClusterDiff{{Name: "c", Objects: []ObjectDiff{{Action: object.Update, Key: key("Secret", "x"), After: object.NewBody([]byte(raw))}}}}}
		got := everyFormat(t, func(b *strings.Builder, f Format) error { return d.Write(b, f, keyOf) })
		if strings.Contains(got, secret) {
			t.Errorf("the diff of %q shows the value:\n%s", raw, got)
		}
	})
}

// public says that the text stands in what is shown of a Secret: its metadata, its type, and names of fields.
func public(tree map[string]any, s string) bool {
	for _, k := range []string{"apiVersion", "kind", "type", "immutable", "metadata"} {
		if strings.Contains(fmt.Sprint(tree[k]), s) {
			return true
		}
	}
	return names(tree, s)
}

func names(v any, s string) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if strings.Contains(k, s) || names(x, s) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if names(x, s) {
				return true
			}
		}
	}
	return false
}
