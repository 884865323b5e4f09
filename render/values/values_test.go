package values

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = `# kept
clusterDomain: cluster.local   # kept, too
identityTrustAnchorsPEM: |
  -----BEGIN CERTIFICATE-----
  # no comment
  -----END CERTIFICATE-----

proxy:
  # the level
  logLevel: "warn"  # of the proxy
  accessLog:
  await: true
  additionalEnv:
  - name: A
    value: "1"
  # before resources
  resources:
    cpu: {limit: "", request: 100m}
    memory: {}
  'quoted': off

  ports:
    admin: 4191
# the init container
proxyInit:
  ignoreInboundPorts: 4567,4568
`

// Every change is one of a single place: what the lines before and after say stays, byte for byte.
func TestSet(t *testing.T) {
	for _, c := range []struct{ path, value, was, now string }{
		{"proxy.logLevel", `"debug"`, `logLevel: "warn"  # of the proxy`, `logLevel: debug  # of the proxy`},
		{"proxy.logLevel", `"off"`, `logLevel: "warn"  # of the proxy`, `logLevel: "off"  # of the proxy`},
		{"proxy.logLevel", `"a\nb"`, `logLevel: "warn"  # of the proxy`, `logLevel: "a\nb"  # of the proxy`},
		{"proxy.logLevel", `"a: #b"`, `logLevel: "warn"  # of the proxy`, `logLevel: 'a: #b'  # of the proxy`},
		{"proxy.logLevel", `null`, `logLevel: "warn"  # of the proxy`, `logLevel: null  # of the proxy`},
		{"clusterDomain", `"x"`, "clusterDomain: cluster.local   # kept", "clusterDomain: x   # kept"},
		{"proxy.accessLog", `"json"`, "  accessLog:\n", "  accessLog: json\n"},
		{"proxy.await", `false`, "await: true", "await: false"},
		{"proxy.additionalEnv", `[{"name":"B"},{"name":"C","value":"true"}]`, "  - name: A\n    value: \"1\"\n", "  - name: B\n  - name: C\n    value: \"true\"\n"},
		{"proxy.additionalEnv", `[]`, "  additionalEnv:\n  - name: A\n    value: \"1\"\n", "  additionalEnv: []\n"},
		{"proxy.resources.cpu.limit", `"1"`, `    cpu: {limit: "", request: 100m}` + "\n", "    cpu:\n      limit: \"1\"\n      request: 100m\n"},
		{"proxy.resources.memory.limit", `"64Mi"`, "    memory: {}\n", "    memory:\n      limit: 64Mi\n"},
		{"proxy.resources.ephemeral-storage.limit", `"1Gi"`, "    memory: {}\n", "    memory: {}\n    ephemeral-storage:\n      limit: 1Gi\n"},
		{"proxy.quoted", `1`, "'quoted': off", "'quoted': 1"},
		{"proxy.runtime.workers.maximumCPURatio", `0.5`, "    admin: 4191\n", "    admin: 4191\n  runtime:\n    workers:\n      maximumCPURatio: 0.5\n"},
		{"proxyInit.ignoreInboundPorts", `""`, "4567,4568", `""`},
		{"proxyInit.skipSubnets", `"10.0.0.0/8"`, "4567,4568\n", "4567,4568\n  skipSubnets: 10.0.0.0/8\n"},
		{"networkValidator.timeout", `"5s"`, "4567,4568\n", "4567,4568\nnetworkValidator:\n  timeout: 5s\n"},
		{"identityTrustAnchorsPEM", `""`, "|\n  -----BEGIN CERTIFICATE-----\n  # no comment\n  -----END CERTIFICATE-----\n", "\"\"\n"},
		{"proxy.ports", `{}`, "  ports:\n    admin: 4191\n", "  ports: {}\n"},
	} {
		for name, ending := range map[string]func(string) string{
			"":                  func(s string) string { return s },
			" with CRLF":        func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			" with a start":     func(s string) string { return "---\n" + s },
			" with more spaces": func(s string) string { return strings.ReplaceAll(s, "\n  ", "\n    ") },
		} {
			if name == " with more spaces" && strings.Contains(c.now, ":\n  ") {
				continue // new blocks have Helm's margins
			}
			if strings.Count(document, c.was) != 1 {
				t.Fatalf("%q is there %d times", c.was, strings.Count(document, c.was))
			}
			before, want := ending(document), ending(strings.Replace(document, c.was, c.now, 1))
			setsOne(t, c.path+name, before, want, c.path, c.value)
		}
	}
}

func setsOne(t *testing.T, name, before, want, path, value string) {
	t.Helper()
	d, err := Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := d.Set(path, value)
	if err != nil {
		t.Errorf("%s: set %s: %v", name, value, err)
		return
	}
	if diff := cmp.Diff(want, after.String()); diff != "" {
		t.Errorf("%s: set %s: -want +got\n%s", name, value, diff)
	}
	if got, _ := after.Value(path); !Equal(got, value) {
		t.Errorf("%s: set %s: reads %s", name, value, got)
	}
	if d.String() != before {
		t.Errorf("%s: Set changed its document", name)
	}
}

func TestRemove(t *testing.T) {
	for path, c := range map[string][2]string{
		"proxy.logLevel":                {"  logLevel: \"warn\"  # of the proxy\n", ""},
		"proxy.additionalEnv":           {"  additionalEnv:\n  - name: A\n    value: \"1\"\n", ""},
		"proxy.resources.cpu.limit":     {`    cpu: {limit: "", request: 100m}` + "\n", "    cpu:\n      request: 100m\n"},
		"proxy.ports.admin":             {"  ports:\n    admin: 4191\n", "  ports: {}\n"},
		"proxyInit":                     {"proxyInit:\n  ignoreInboundPorts: 4567,4568\n", ""},
		"identityTrustAnchorsPEM":       {"identityTrustAnchorsPEM: |\n  -----BEGIN CERTIFICATE-----\n  # no comment\n  -----END CERTIFICATE-----\n", ""},
		"proxy.nothing":                 {"", ""},
		"proxy.logLevel.below.a.string": {"", ""},
	} {
		d, err := Parse(document)
		if err != nil {
			t.Fatal(err)
		}
		after, err := d.Remove(path)
		if diff := cmp.Diff(strings.Replace(document, c[0], c[1], 1), after.String()); err != nil || diff != "" {
			t.Errorf("Remove(%s): %v, -want +got\n%s", path, err, diff)
		}
	}
}

// A field that cannot be changed alone is an error, and so is a document that is none.
func TestNotChanged(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "it is empty",
		"# nothing\n":                        "it is empty",
		"\r0:":                               "it has line breaks that are neither",
		"a: 1\n---\nb: 1\n":                  "it has more than one YAML document",
		"- a\n":                              "it is not a mapping in block style",
		"{proxy: {logLevel: a}}\n":           "it is not a mapping in block style",
		"proxy: {logLevel: a\n":              "yaml: ",
		"proxy: 1\nproxy: 2\n":               `key "proxy" already set in map`,
		"a: &a {logLevel: x}\nproxy: *a\n":   "",
		"proxy: &a\n  logLevel: x\nb: *a\n":  "proxy.logLevel cannot be changed alone: write the document in block style, without anchors",
		"? proxy\n: logLevel: x\n":           "its line is not a key and a value",
		"proxy:\n  ? logLevel\n  : x\n":      "its line is not a key and a value",
		"<<: {proxy: {logLevel: x}}\nb: 1\n": "proxy.logLevel cannot be changed alone: write the document in block style, without anchors",
	} {
		d, err := Parse(text)
		if err == nil {
			d, err = d.Set("proxy.logLevel", `"debug"`)
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
		if got, _ := d.Value("proxy.logLevel"); want == "" && got != `"debug"` {
			t.Errorf("%q: proxy.logLevel is %s in %q", text, got, d)
		}
	}
	for _, value := range []string{"{", "1"} {
		if _, err := (Document{}).Set("a", value); err == nil {
			t.Errorf("%s was set in no document", value)
		}
	}
	d, err := Parse("base: &x\n  logLevel: a\n  await: true\nproxy:\n  <<: *x\n")
	if err != nil {
		t.Fatal(err)
	}
	if after, err := d.Remove("proxy.logLevel"); err == nil {
		t.Errorf("a field of a merge key was removed: %s", after)
	}
}

func removesOne(t *testing.T, d Document, path string) {
	t.Helper()
	without, err := d.Remove(path)
	if err != nil {
		return
	}
	if got, ok := without.Value(path); ok {
		t.Fatalf("Remove(%q) of %q leaves %s", path, d, got)
	}
}

// Whatever the document is, Set changes one field or gives an error, and setting the old value back gives the old meaning.
func FuzzSet(f *testing.F) {
	f.Add(document, "proxy.logLevel", `"debug"`)
	f.Add(document, "proxy.resources.cpu.limit", `"1"`)
	f.Add("a:\n b:\n  - c\n", "a.b", `[{"c":{"d":1}}]`)
	f.Add("a: >\n  b\n\n# c\n", "a", `"x"`)
	f.Add("\r0:", "0", "0")
	f.Add("base: &x\n  a: 1\n  b: 2\nproxy:\n  <<: *x\n", "proxy.a", "3")
	f.Add("a: 'b\n  c' # d\ne: 1", "a", `1`)
	f.Fuzz(func(t *testing.T, text, path, value string) {
		d, err := Parse(text)
		if err != nil || path == "" {
			return
		}
		removesOne(t, d, path)
		was, had := d.Value(path)
		after, err := d.Set(path, value)
		if err != nil {
			return
		}
		if got, ok := after.Value(path); !ok || !Equal(got, value) {
			t.Fatalf("Set(%q, %s) of %q reads %s", path, value, text, got)
		}
		back := after
		if had {
			back, err = after.Set(path, was)
		} else {
			back, err = after.Remove(path)
		}
		if err != nil {
			return // what was in another style may be as it can be now
		}
		if got, ok := back.Value(path); ok != had || had && !Equal(got, was) {
			t.Fatalf("%q back in %q reads %s, %v", was, after, got, ok)
		}
	})
}
