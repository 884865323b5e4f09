package values

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

const document = `linkerdVersion: edge-26.6.3
proxy:
  await: true
  logLevel: warn # of all
  nativeSidecar: false
  opaquePorts: 25,26
  resources: {}
  waitBeforeExitSeconds: 0
proxyInit:
  closeWaitTimeoutSecs: 0
  runAsRoot: false
`

// declared are values of one ProxyConfig: path=JSON.
func declared(fields ...string) (out []fleet.Value) {
	for _, f := range fields {
		path, value, _ := strings.Cut(f, "=")
		out = append(out, fleet.Value{Path: path, JSON: value, From: "ProxyConfig a"})
	}
	return out
}

// recorded are values of an inventory: path=SET<BEFORE<FORMER.
func recorded(fields ...string) (out []inventory.Value) {
	for _, f := range fields {
		path, value, _ := strings.Cut(f, "=")
		parts := append(strings.Split(value, "<"), "", "")
		out = append(out, inventory.Value{Path: path, Set: parts[0], Before: parts[1], Former: parts[2]})
	}
	return out
}

// config is a live configuration that these managers wrote.
func config(text string, managers ...string) linkerd.Config {
	meta := metav1.ObjectMeta{UID: "1", ResourceVersion: "1"}
	for i, m := range append([]string{"kubectl-edit"}, managers...) { // somebody edited a label by hand long ago
		fields := `{"f:metadata":{"f:labels":{"f:a":{}}}}`
		if i == len(managers) && i > 0 {
			fields = `{"f:data":{"f:values":{}}}`
		}
		meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{Manager: m, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(fields)})
	}
	return linkerd.Config{
		Key: object.Key{Kind: "ConfigMap", Namespace: "linkerd", Name: "linkerd-config"}, Values: text,
		Record: object.Reduce(&meta, object.DefaultOwner),
	}
}

// shown is a decision as text: a line for each change, record and reason.
func shown(d Decision) (out []string) {
	for _, c := range d.Changes {
		out = append(out, fmt.Sprintf("%s: %s %q -> %q", c.Why, c.Path, c.Before, c.After))
	}
	for _, v := range d.Record {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("record %s=%s<%s<%s", v.Path, v.Set, v.Before, v.Former), "<"))
	}
	for _, why := range d.Blocked {
		out = append(out, "blocked "+string(why.Code))
	}
	return out
}

func TestDecide(t *testing.T) {
	hand, helm := []string{"helm", "kubectl-edit"}, []string{"helm"}
	for name, c := range map[string]struct {
		declared []fleet.Value
		recorded []inventory.Value
		managers []string
		unread   *object.Reason
		want     []string
	}{
		"nothing":                       {},
		"a new value":                   {declared: declared(`proxy.logLevel="debug"`), want: []string{`Declared: proxy.logLevel "\"warn\"" -> "\"debug\""`, `record proxy.logLevel="debug"<"warn"<"warn"`}},
		"a new value that is there":     {declared: declared(`proxy.logLevel="warn"`), want: []string{`record proxy.logLevel="warn"<"warn"`}},
		"a value without a default":     {declared: declared(`proxy.accessLog="json"`), want: []string{`Declared: proxy.accessLog "" -> "\"json\""`, `record proxy.accessLog="json"<`}},
		"resources without defaults":    {declared: declared(`proxy.resources.cpu.limit="1"`), want: []string{`Declared: proxy.resources.cpu.limit "" -> "\"1\""`, `record proxy.resources.cpu.limit="1"<`}},
		"a value that is set":           {declared: declared(`proxy.await=true`), recorded: recorded(`proxy.await=true<false`), want: []string{`record proxy.await=true<false`}},
		"another declared value":        {declared: declared(`proxy.logLevel="a"`), recorded: recorded(`proxy.logLevel="warn"<"b"`), want: []string{`Declared: proxy.logLevel "\"warn\"" -> "\"a\""`, `record proxy.logLevel="a"<"b"<"warn"`}},
		"an edit by hand":               {declared: declared(`proxy.logLevel="a"`), recorded: recorded(`proxy.logLevel="a"<"b"`), managers: hand, want: []string{`Drift: proxy.logLevel "\"warn\"" -> "\"a\""`, `record proxy.logLevel="a"<"b"`}},
		"a write of Helm":               {declared: declared(`proxy.logLevel="a"`), recorded: recorded(`proxy.logLevel="a"<"b"`), managers: helm, want: []string{`Drift: proxy.logLevel "\"warn\"" -> "\"a\""`, `record proxy.logLevel="a"<"warn"`}},
		"a field that a hand removed":   {declared: declared(`proxy.logFormat="a"`), recorded: recorded(`proxy.logFormat="a"<"b"`), managers: hand, want: []string{`Drift: proxy.logFormat "" -> "\"a\""`, `record proxy.logFormat="a"<"b"`}},
		"one that a release dropped":    {declared: declared(`proxy.logFormat="a"`), recorded: recorded(`proxy.logFormat="a"<"b"`), managers: helm, want: []string{`record proxy.logFormat="a"<"b"`, "blocked ValueNotSupported"}},
		"an unknown value":              {declared: declared(`proxy.tracing.enabled=true`, `proxy.await=false`), want: []string{`Declared: proxy.await "true" -> "false"`, `record proxy.await=false<true<true`, "blocked ValueNotSupported"}},
		"a flag agrees":                 {declared: declared(`proxy.opaquePorts="25"`), want: []string{`Declared: proxy.opaquePorts "\"25,26\"" -> "\"25\""`, `record proxy.opaquePorts="25"<"25,26"<"25,26"`}},
		"a flag disagrees":              {declared: declared(`proxy.opaquePorts="26"`), recorded: recorded(`proxy.opaquePorts="25,26"<"1"`), want: []string{`record proxy.opaquePorts="25,26"<"1"`, "blocked ValueContradicted"}},
		"an unknown flag":               {declared: declared(`proxy.opaquePorts="25"`), unread: object.Because(reason.Forbidden, ""), want: []string{"blocked Forbidden"}},
		"put back":                      {recorded: recorded(`proxy.logLevel="warn"<"info"`), want: []string{`Undeclared: proxy.logLevel "\"warn\"" -> "\"info\""`, `record proxy.logLevel="warn"<"info"`}},
		"put back what was not there":   {recorded: recorded(`proxy.logLevel="warn"<`), want: []string{`Undeclared: proxy.logLevel "\"warn\"" -> ""`, `record proxy.logLevel="warn"<`}},
		"is back":                       {recorded: recorded(`proxy.logLevel="debug"<"warn"`)},
		"changed since":                 {recorded: recorded(`proxy.logLevel="debug"<"info"`)},
		"was as declared":               {recorded: recorded(`proxy.logLevel="warn"<"warn"`)},
		"a sidecar that waits":          {declared: declared(`proxy.nativeSidecar=true`, `proxy.waitBeforeExitSeconds=5`), want: []string{"blocked ValueContradicted", "blocked ValueContradicted"}},
		"a sidecar that waits no more":  {declared: declared(`proxy.nativeSidecar=true`, `proxy.waitBeforeExitSeconds=0`), want: []string{`Declared: proxy.nativeSidecar "false" -> "true"`, `record proxy.nativeSidecar=true<false<false`, `record proxy.waitBeforeExitSeconds=0<0`}},
		"a wait that is put back later": {declared: declared(`proxy.nativeSidecar=true`), recorded: recorded(`proxy.waitBeforeExitSeconds=0<5`), want: []string{`Declared: proxy.nativeSidecar "false" -> "true"`, `record proxy.nativeSidecar=true<false<false`, `record proxy.waitBeforeExitSeconds=0<5`}},
		"a timeout without root":        {declared: declared(`proxyInit.closeWaitTimeoutSecs=5`), want: []string{"blocked ValueContradicted"}},
		"a timeout with root":           {declared: declared(`proxyInit.closeWaitTimeoutSecs=5`, `proxyInit.runAsRoot=true`), want: []string{`Declared: proxyInit.closeWaitTimeoutSecs "0" -> "5"`, `Declared: proxyInit.runAsRoot "false" -> "true"`, `record proxyInit.closeWaitTimeoutSecs=5<0<0`, `record proxyInit.runAsRoot=true<false<false`}},
		"a first write that failed":     {declared: declared(`proxy.logLevel="a"`), recorded: recorded(`proxy.logLevel="a"<"warn"<"warn"`), managers: helm, want: []string{`Declared: proxy.logLevel "\"warn\"" -> "\"a\""`, `record proxy.logLevel="a"<"warn"<"warn"`}},
		"two writes that failed":        {declared: declared(`proxy.logLevel="c"`), recorded: recorded(`proxy.logLevel="b"<"info"<"warn"`), managers: helm, want: []string{`Declared: proxy.logLevel "\"warn\"" -> "\"c\""`, `record proxy.logLevel="c"<"info"<"warn"`}},
		"put back after such a write":   {recorded: recorded(`proxy.logLevel="b"<"info"<"warn"`), managers: helm, want: []string{`Undeclared: proxy.logLevel "\"warn\"" -> "\"info\""`, `record proxy.logLevel="b"<"info"<"warn"`}},
		"both of a pair are put back":   {recorded: recorded(`proxy.nativeSidecar=false<true`, `proxy.waitBeforeExitSeconds=0<0`), want: []string{`Undeclared: proxy.nativeSidecar "false" -> "true"`, `record proxy.nativeSidecar=false<true`}},
	} {
		d := Decide(Input{
			Declared: c.declared, Recorded: c.recorded, Config: config(document, c.managers...), Unread: c.unread,
			Flag: func(name string) (string, bool) { return "25", name == "default-opaque-ports" },
		})
		if diff := cmp.Diff(c.want, shown(d)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if (len(d.Changes) == 0) != (d.Text == document) {
			t.Errorf("%s: %d changes of\n%s", name, len(d.Changes), d.Text)
		}
	}
}

// Nothing is set in a document that cannot be read, and what is recorded stays as long as something is declared.
func TestDecideUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no mapping": "a", "broken": "proxy: {", "two": "proxy: {}\n---\na: b\n", "in flow style": "{proxy: {await: true}}",
	} {
		in := Input{Declared: declared("proxy.await=false"), Recorded: recorded("proxy.await=false<true"), Config: config(text)}
		d := Decide(in)
		if diff := cmp.Diff([]string{"record proxy.await=false<true", "blocked LinkerdConfigInvalid"}, shown(d)); diff != "" || d.Text != text {
			t.Errorf("%s: %q, -want +got\n%s", name, d.Text, diff)
		}
		in.Declared, in.Leaving = nil, true
		if d := Decide(in); len(shown(d)) > 0 || d.Text != text {
			t.Errorf("%s, in a cluster that leaves: %v", name, shown(d))
		}
	}
	anchored := "proxy: &a\n  await: true\nb: *a\n"
	d := Decide(Input{Declared: declared("proxy.await=false"), Config: config(anchored)})
	if diff := cmp.Diff([]string{"blocked LinkerdConfigInvalid"}, shown(d)); diff != "" || d.Text != anchored {
		t.Errorf("anchors: -want +got\n%s", diff)
	}
}

// A document of 900 KB takes no longer than it must, and stays as it is but for the field.
func TestDecideLarge(t *testing.T) {
	large := document + "identityTrustAnchorsPEM: |\n" + strings.Repeat("  # no comment, and no certificate\n", 900<<10/35)
	d := Decide(Input{Declared: declared(`proxy.logLevel="debug"`, "proxy.await=false", `proxy.accessLog="json"`), Config: config(large)})
	want := strings.Replace(strings.Replace(large, "logLevel: warn", "logLevel: debug", 1), "await: true", "await: false", 1)
	want = strings.Replace(want, "waitBeforeExitSeconds: 0\n", "waitBeforeExitSeconds: 0\n  accessLog: json\n", 1)
	if d.Text != want {
		t.Errorf("got %d bytes and %v", len(d.Text), shown(d))
	}
}

// A value that the injector would reject with the other one of its pair is put back once that one allows it. In a cluster that leaves, it stays.
func TestDecidePutBackLater(t *testing.T) {
	text := strings.Replace(document, "runAsRoot: false", "runAsRoot: true", 1)
	needsRoot := strings.Replace(text, "closeWaitTimeoutSecs: 0", "closeWaitTimeoutSecs: 5", 1)
	root := recorded("proxyInit.runAsRoot=true<false")
	back := []string{`Undeclared: proxyInit.runAsRoot "true" -> "false"`, "record proxyInit.runAsRoot=true<false"}
	for name, c := range map[string]struct {
		in   Input
		want []string
	}{
		"another tool's timeout":             {Input{Recorded: root, Config: config(needsRoot, "helm")}, []string{"record proxyInit.runAsRoot=true<false"}},
		"a declared timeout":                 {Input{Recorded: root, Config: config(text), Declared: declared("proxyInit.closeWaitTimeoutSecs=5")}, []string{`Declared: proxyInit.closeWaitTimeoutSecs "0" -> "5"`, "record proxyInit.closeWaitTimeoutSecs=5<0<0", "record proxyInit.runAsRoot=true<false"}},
		"no timeout any more":                {Input{Recorded: root, Config: config(text, "helm")}, back},
		"a timeout in a cluster that leaves": {Input{Recorded: root, Config: config(needsRoot, "helm"), Leaving: true}, nil},
		"one of two": {
			Input{Recorded: recorded("proxyInit.closeWaitTimeoutSecs=0<5", "proxyInit.runAsRoot=true<false"), Config: config(text)},
			[]string{`Undeclared: proxyInit.closeWaitTimeoutSecs "0" -> "5"`, "record proxyInit.closeWaitTimeoutSecs=0<5", "record proxyInit.runAsRoot=true<false"},
		},
	} {
		if diff := cmp.Diff(c.want, shown(Decide(c.in))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// Kept are the fields that would be put back; of a document that cannot be read, all.
func TestKept(t *testing.T) {
	all := recorded(`proxy.accessLog="json"<`, "proxy.await=true<false", `proxy.logLevel="debug"<"info"`, "proxy.nativeSidecar=false<false", `proxy.opaquePorts="1"<"2"<"25,26"`)
	for text, want := range map[string]string{
		document: "proxy.await proxy.opaquePorts",
		"":       "proxy.accessLog proxy.await proxy.logLevel proxy.nativeSidecar proxy.opaquePorts",
	} {
		if got := strings.Join(Kept(all, text), " "); got != want {
			t.Errorf("Kept of %q: %s, want %s", text, got, want)
		}
	}
}
