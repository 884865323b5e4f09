package fleet

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing/fstest"
)

// hostile is an input, and what its problems say; without words it is valid.
type hostile struct {
	tree func() fs.FS
	want []string
}

func attacks() map[string]hostile {
	out := map[string]hostile{}
	for _, some := range []map[string]hostile{floods(), searches(), bombs(), nested(), unreadable(), mistakes(), built()} {
		maps.Copy(out, some)
	}
	return out
}

// one is a tree of one file that is made when it is needed.
func one(text func() string, want ...string) hostile {
	return hostile{func() fs.FS { return fstest.MapFS{"a.yaml": {Data: []byte(text())}} }, want}
}

// times is one file of one text over and over.
func times(n int, text string, want ...string) hostile {
	return one(func() string { return strings.Repeat(text, n) }, want...)
}

// flood is times, up to the size that a file may have.
func flood(text string, want ...string) hostile { return times(MaxFileBytes/len(text), text, want...) }

// after is a sound beginning and a flood.
func after(begin, text string, want ...string) hostile {
	return one(func() string { return begin + strings.Repeat(text, (MaxFileBytes-len(begin))/len(text)) }, want...)
}

// files is a tree of n equal files.
func files(n int, text func() string, want ...string) hostile {
	return hostile{func() fs.FS {
		tree, data := fstest.MapFS{}, []byte(text())
		for i := range n {
			tree[fmt.Sprintf("f%05d.yaml", i)] = &fstest.MapFile{Data: data}
		}
		return tree
	}, want}
}

// numbered is a text with a number in it, n times.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

const (
	east   = "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: east\nspec:\n  access: {kubeconfigSecret: {name: east}}\n"
	link   = "---\napiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: l%[1]d}\nspec: {source: east, target: t%[1]d}\n"
	policy = "apiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec:\n"
	all    = "apiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: m}\nspec:\n  clusters: {}\n"
)

// searches are for what looks for secrets: words of theirs over and over, in files that nothing else reads.
func searches() map[string]hostile {
	named := func(name string, size int, text string, want ...string) hostile {
		return hostile{func() fs.FS {
			tree, data := fstest.MapFS{"a.yaml": {Data: []byte(east)}}, []byte(strings.Repeat(text, size/len(text)))
			for i := range 64 << 20 / size {
				tree[fmt.Sprintf(name, i)] = &fstest.MapFile{Data: data}
			}
			return tree
		}, want}
	}
	others := func(text string, want ...string) hostile { return named("f%d.conf", MaxSearchedBytes, text, want...) }
	const long = "0123456789abcdef0123456789abcdef"
	return map[string]hostile{
		"beginnings of keys":         others("-----BEGIN PRIVATE KEY-----\n"),
		"beginnings in a row":        others("-----BEGIN PRIVATE KEY "),
		"keys":                       others("-----BEGIN PRIVATE KEY-----\n"+long+"\n", "this is a private key"),
		"keys in base64":             others("LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0t", "this is a private key in base64"),
		"beginnings in base64":       others("LS0tLS1CRUdJTi-"),
		"words of Secrets":           others("kind: Secret data: ", "cannot be searched for secrets"),
		"words of sops":              others("sops "),
		"a kubeconfig of 4 MiB":      others("users: {a: b}\n---\n", "cannot be searched for secrets"),
		"4,000 Secrets, in 40 files": files(40, func() string { return strings.Repeat("kind: Secret\ndata: {a: b}\n---\n", 100) }, "Secret holds data"),
		"beginnings of PuTTY's":      others("PuTTY-User-Key-File-3: a\n"),
		"beginnings, then headers":   others("-----BEGIN PRIVATE KEY-----\nHash: a\n"),
		"escapes":                    others(`-----BEGIN PRIVATE KEY\u002d`),
		"words in texts":             named("f%d.txt", 1<<20, "kind: Secret data: "),
		"small texts":                named("f%d.txt", 1<<16, "users: {a: b}\n---\n"),
		"Secrets in texts":           named("f%d.txt", 1<<14, "kind: Secret\ndata: {a: b}\n---\n", "Secret holds data"),
		"UTF-16":                     {utf16Files, []string{"the file is UTF-16"}},
		"a Secret, deep":             others(strings.Repeat("[", 2000)+"kind: Secret, data: ", "cannot be searched for secrets"),
	}
}

// utf16Files are such as grow when they are read as UTF-8.
func utf16Files() fs.FS {
	tree := fstest.MapFS{}
	for i := range 16 {
		tree[fmt.Sprintf("f%d.yaml", i)] = &fstest.MapFile{Data: []byte("\xff\xfe" + strings.Repeat("\x01\x20", MaxSearchedBytes/2-1))}
	}
	return tree
}

// floods are inputs of great size.
func floods() map[string]hostile {
	return map[string]hostile{
		"a file of 50 MiB":         times(50<<20/8, "a: bcde\n", "a.yaml: cannot be read: it is larger than 4 MiB"),
		"one text of 50 MiB":       times(50<<20, "a", "a.yaml: cannot be read: it is larger than 4 MiB"),
		"16 files of 4 MiB":        files(16, func() string { return strings.Repeat("# "+strings.Repeat("a long comment ", 6)+"\n", 45_000) }, "f00004.yaml: cannot be read: the declarations would be larger than 16 MiB"),
		"20,000 files of mistakes": files(20_000, func() string { return numbered(7, "k%d: 1\n") + "apiVersion: linkwright.dev/v1alpha1\nkind: Link\n" }, "unknown field", "other files"),
		"20,000 broken files":      files(20_000, func() string { return "a: b: c\n" }, "f00000.yaml:1:4: invalid YAML", "and 18000 more in 18000 other files"),
		"a million separators":     times(1_000_000, "---\n", "a.yaml: cannot be read: the tree would have more than 30000 documents"),
		"separators in many files": files(20_000, func() string { return strings.Repeat("---\n", 50) }, "the tree would have more than 30000 documents"),
		"half a million documents": times(500_000, "--- a\n", "more than 30000 documents"),
		"29,500 documents":         times(29_500, "--- a\n", `a.yaml:1:5: expected a declaration, found "a"`, "and 29400 more in this file"),
		"29,500 ends of documents": times(29_500, "a\n...\n", "a.yaml"),
		"a million ends":           flood("a\n...\n", "invalid YAML"),
		"a million unknown keys":   one(func() string { return east + numbered(300_000, "k%d: 1\n") }, "one document has more than 80000 words"),
		"75,000 unknown keys":      one(func() string { return east + numbered(75_000, "k%d: 1\n") }, "a.yaml:7:1: k0: unknown field", "and 74900 more in this file"),
		"75,000 keys almost right": one(func() string { return east + "  gateway:\n" + numbered(75_000, "    enable%d: 1\n") }, "did you mean enabled?", "and 74900 more in this file"),
		"a million duplicate keys": after(east, "a: 1\n", "more than 80000 words"),
		"75,000 duplicate keys":    one(func() string { return east + strings.Repeat("kind: 1\n", 75_000) }, "kind: this key is declared twice, first in line 2", "and 74900 more"),
		"75,000 wrong labels": one(func() string {
			return strings.Replace(east, "spec:", "  labels:\n"+numbered(75_000, "    -k%d: .\n")+"spec:", 1)
		}, "is not a valid label key", "and 149900 more"),
		"45,000 addresses": one(func() string {
			return east + "  gateway:\n    addresses:\n" + strings.Repeat("    - 300.1.1.1\n", 45_000)
		}, "is neither an IP address nor a host name", "and 44900 more"),
		"75,000 items of no object": one(func() string { return policy + "  ignore:\n" + strings.Repeat("  - x\n", 75_000) }, "expected a mapping", "and 74900 more"),
		"15,000 exceptions":         one(func() string { return all + "  except:\n" + strings.Repeat("  - {source: a, target: a}\n", 15_000) }, "a mesh never links cluster", "and 44900 more"),
		"undeclared ends":           files(2, func() string { return numbered(14_900, link) }, `spec.target: cluster "t0" is not declared`, "and 29700 more", "declared twice"),
		"undeclared ends, hints":    {farFromNames, []string{"is not declared", "and 39900 more"}},
		"equal names":               one(func() string { return strings.Repeat(east+"---\n", 25_000) }, "Cluster east is declared twice", "and 24899 more"),
		"unknown keys everywhere":   one(func() string { return strings.Repeat("---\n"+east+"sepc: 1\nmetadat: 1\naccess: 1\n", 20_000) }, "did you mean spec?", "more in this file"),
		"comments":                  flood("#\n", "words"),
		"comments between":          flood("a: 1 #x\n#f\n\n", "words"),
		"empty lines":               flood("\n", "the tree has no declaration"),
		"blanks":                    flood(" ", "the tree has no declaration"),
		"Windows lines":             one(func() string { return strings.ReplaceAll(east, "\n", "\r\n") }),
	}
}

// farFromNames has links to clusters that are not declared, and many clusters that each of them could mean.
func farFromNames() fs.FS {
	tree := meshOf(1000)
	delete(tree, "mesh.yaml")
	tree["links.yaml"] = &fstest.MapFile{Data: []byte(numbered(20_000, strings.ReplaceAll(link, "target: t", "target: x")))}
	return tree
}

// bombs are small and would be large.
func bombs() map[string]hostile {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 20 {
		item := fmt.Sprintf("*a%d, ", i)
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(item, 10))
	}
	merges := "m0: &m0 {a: 1}\n"
	for i := range 20 {
		merges += fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d], k%d: {<<: *m%d}}\n", i+1, i+1, i, i, i, i)
	}
	under := strings.ReplaceAll(strings.TrimSpace(laughs), "\n", "\n  ")
	return map[string]hostile{
		"laughs":            one(func() string { return laughs }, "a.yaml:1:1: apiVersion is missing"),
		"laughs in a field": one(func() string { return east + "  " + under + "\n  apiServer: *a20\n" }, "aliases are not allowed: *a20 (write the value out)"),
		"laughs in labels": one(func() string {
			return strings.Replace(east, "spec:", "  labels: &l {a: *l}\nspec:", 1)
		}, "anchors are not allowed: &l", "aliases are not allowed: *l"),
		"merges": one(func() string {
			return east + "  " + strings.ReplaceAll(strings.TrimSpace(merges), "\n", "\n  ") + "\n  gateway: {<<: *m20}\n"
		}, "merge keys are not allowed"),
		"a merge of oneself": one(func() string { return strings.Replace(east, "spec:\n", "spec: &s\n  <<: *s\n", 1) }, "merge keys are not allowed"),
		"many anchors":       one(func() string { return east + numbered(35_000, "k%[1]d: &a%[1]d 1\n") }, "unknown field", "and 34900 more"),
		"many aliases": one(func() string {
			return east + "  gateway:\n    addresses: [&a x" + strings.Repeat(", *a", 75_000) + "]\n"
		}, "aliases are not allowed", "more in this file"),
		"tag directives":   one(func() string { return numbered(200_000, "%%TAG !%d! x\n") + "--- a\n" }, "a.yaml:1:1: cannot be read: tag directives are not allowed"),
		"tag after a text": one(func() string { return east + "...\n%TAG !a! x\n---\n" }, "a.yaml:8:1: cannot be read: tag directives are not allowed: %TAG !a! x (remove the line)"),
		"own tags":         one(func() string { return east + strings.Repeat("? !a a\n: 1\n", 30_000) }, "expected a string as key", "more in this file"),
		"long tag":         one(func() string { return east + "  apiServer: !" + strings.Repeat("a", 1<<20) + " b\n" }, "a value of type"),
		"quantities": one(func() string {
			return strings.Repeat(all+"  template: {controller: {resources: {limits: {cpu: 1e-2000000000}}}}\n---\n", 5000)
		}, "write it shorter"),
	}
}

// nested are texts whose values stand in one another.
func nested() map[string]hostile {
	out := map[string]hostile{
		"brackets behind comments":  times(9_000, "[ # ]\n", "a.yaml:9000:1: invalid YAML"),
		"brackets behind comments!": times(39_000, "[ # ]\n", "exceeded max depth"),
		"brackets closed":           one(func() string { return strings.Repeat("- "+strings.Repeat("[", 900)+strings.Repeat("]", 900)+"\n", 80) }, "a.yaml:1:1: expected a declaration, found a list"),
		"indented":                  one(indented, "a.yaml:1002:1001: cannot be read: nested deeper than 1000 levels"),
		"indented less":             one(func() string { return indented()[:900*900/2] }, "apiVersion is missing"),
		"labels in labels": one(func() string {
			return strings.Replace(east, "spec:", "  labels: "+strings.Repeat("{a: ", 900)+strings.Repeat("}", 900)+"\nspec:", 1)
		}, "a.yaml:5:15: metadata.labels.a: expected a string, found a mapping"),
	}
	for _, n := range []int{100_000, 1_000_000} {
		for _, text := range []string{"[", "{a:", "- ", "? ", "[{", "{? "} {
			out[fmt.Sprintf("%d times %s", n, text)] = times(min(n, MaxFileBytes/len(text)), text, "a.yaml:1:", "cannot be read: nested deeper than 1000 levels (a dozen levels are enough for any declaration)")
		}
	}
	return out
}

// indented is as deep as four MiB can be.
func indented() string {
	var b strings.Builder
	for i := 0; b.Len()+i+3 < MaxFileBytes; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// unreadable are no texts.
func unreadable() map[string]hostile {
	utf16 := func(text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			b.Write([]byte{c, 0})
		}
		return b.String()
	}
	return map[string]hostile{
		"UTF-16":                one(func() string { return "\xff\xfe" + utf16(east) }, "a.yaml:1:1: cannot be read: the file is UTF-16 (save it as UTF-8)"),
		"UTF-16, much":          one(func() string { return "\xff\xfe" + utf16(strings.Repeat("-\n", 1<<19)) }, "the file is UTF-16"),
		"UTF-16 without a mark": one(func() string { return utf16(east) }, "a.yaml:1:2: cannot be read: the file contains the control character U+0000"),
		"UTF-32":                one(func() string { return "\x00\x00\xfe\xff\x00\x00\x00a" }, "control character U+0000"),
		"byte order mark":       one(func() string { return "\ufeff" + east }, "a.yaml:1:1: cannot be read: the file begins with a byte order mark (save it as UTF-8 without one)"),
		"mark within":           one(func() string { return east + "---\n\ufeff" + east }, "a.yaml:8:1: cannot be read: the file contains the invisible character U+FEFF"),
		"Latin-1":               one(func() string { return east + "# caf\xe9\n" }, "a.yaml:7:6: cannot be read: byte 0xe9 is not UTF-8 (save the file as UTF-8)"),
		"bytes":                 flood("\xff\xfa", "a.yaml:1:1: cannot be read: byte 0xff is not UTF-8"),
		"NUL":                   one(func() string { return east + "a: \x00" }, "a.yaml:7:4: cannot be read: the file contains the control character U+0000 (remove it)"),
		"NULs":                  flood("\x00", "U+0000"),
		"escape":                one(func() string { return east + "# \x1b[31m" }, "U+001B"),
		"line separator":        one(func() string { return east + "a: b\u2028---\u2028" }, "a.yaml:7:5: cannot be read: the file contains the invisible character U+2028"),
		"old Mac lines":         one(func() string { return strings.ReplaceAll(east, "\n", "\r") }, "a.yaml:1:36: cannot be read: the file contains a carriage return that does not end a line"),
		"carriage returns":      flood("\r", "a carriage return that does not end a line"),
		"tabs":                  flood("\t", "a.yaml:1:1: invalid YAML", "indent with spaces, because YAML does not allow tabs here"),
		"a tab":                 one(func() string { return east + "\tapiServer: x\n" }, "a.yaml:7:1: invalid YAML", "indent with spaces"),
	}
}

// mistakes are long, or not ours.
func mistakes() map[string]hostile {
	const mega = 3 << 20
	return map[string]hostile{
		"long text":      one(func() string { return strings.Repeat("a", mega) }, `a.yaml:1:1: expected a declaration, found "aaaaa`),
		"long server":    one(func() string { return east + "  apiServer: " + strings.Repeat("a", mega) + "\n" }, "is not an https URL"),
		"long name":      one(func() string { return strings.Replace(east, "name: east", "name: "+strings.Repeat("e", mega), 1) }, "a cluster name has at most 52"),
		"long lines":     one(func() string { return east + "  apiServer: |\n" + strings.Repeat("    a\n", mega/6) }, "is not an https URL"),
		"long quoted":    one(func() string { return east + `  apiServer: "` + strings.Repeat(`\n`, mega/2) + "\"\n" }, "is not an https URL"),
		"long key":       one(func() string { return east + "? " + strings.Repeat("a", mega) + "\n: 1\n" }, "unknown field"),
		"long plain key": one(func() string { return east + strings.Repeat("a", mega) + ": 1\n" }, "a.yaml:7:1: invalid YAML"),
		"long label": one(func() string {
			return strings.Replace(east, "spec:", "  labels:\n    ? "+strings.Repeat("a", mega)+"\n    : b\nspec:", 1)
		}, "is not a valid label key"),
		"long label values": one(func() string {
			return strings.Replace(east, "spec:", "  labels: {a: "+strings.Repeat("a-", mega/2)+"}\nspec:", 1)
		}, "label value"),
		"long number":   one(func() string { return east + "  gateway: {port: " + strings.Repeat("1", mega) + "}\n" }, "spec.gateway.port: expected a whole number, found"),
		"long fraction": one(func() string { return policy + "  prune: {maxLinks: " + strings.Repeat("1", mega) + "%}\n" }, "no Cluster is declared"),
		"long schedule": one(func() string { return policy + `  schedule: "` + strings.Repeat("*,", 40_000) + " * * * *\"\n" }, "no Cluster is declared"),
		"long duration": one(func() string { return policy + "  interval: " + strings.Repeat("9999h", mega/5) + "\n" }, "is not a duration"),
		"long anchor":   one(func() string { return east + "  apiServer: &" + strings.Repeat("a", mega) + " https://a\n" }, "anchors are not allowed"),
		"long kind":     one(func() string { return strings.Replace(east, "Cluster", strings.Repeat("C", mega), 1) }, "expected Cluster, Link, Mesh, ProxyConfig or SyncPolicy"),
		"long version":  one(func() string { return strings.Replace(east, "v1alpha1", strings.Repeat("v", mega), 1) }, "apiVersion: expected linkwright.dev/v1alpha1"),
		"long date":     one(func() string { return east + "  apiServer: 2001-01-01 " + strings.Repeat(" ", mega) + "1\n" }, "a.yaml:7:14"),
		"meshes":        one(func() string { return numbered(20_000, "---\n"+strings.Replace(all, "name: m", "name: m%d", 1)) }, "no Cluster is declared"),
	}
}

// built are floods of what kustomize made.
func built() map[string]hostile {
	stream := func(text func() string, want ...string) hostile {
		return hostile{func() fs.FS {
			return builtTree{fstest.MapFS{"kustomization.yaml": {}, "a.yaml": {Data: []byte(strings.Repeat(east+"---\n", 10_000))}}, []byte(text())}
		}, want}
	}
	origin := "metadata:\n  annotations: {config.kubernetes.io/origin: \"path: %s\"}\n"
	return map[string]hostile{
		"built: much":   stream(func() string { return strings.Repeat("# comment\n", 2<<20) }, "kustomization.yaml: cannot be read: its output is larger than 16 MiB"),
		"built: laughs": stream(func() string { return east + "a: &a [1]\nb: *a\n" }, "unknown field"),
		"built: originals": stream(func() string {
			return numbered(29_900, "---\n"+strings.Replace(east, "metadata:\n", strings.ReplaceAll(origin, "%s", "a.yaml#%d"), 1))
		}, "Cluster east is declared twice"),
		"built: origin": stream(func() string {
			return strings.Replace(east, "metadata:\n", fmt.Sprintf(origin, strings.Repeat("a", 1<<20)), 1)
		}),
		"built: labels": stream(func() string {
			return strings.Replace(east, "metadata:\n", fmt.Sprintf(origin, "a.yaml")+"  labels:\n"+numbered(75_000, "    -k%d: .\n"), 1)
		}, "a.yaml:4:3: metadata.labels.-k0", "more in this file"),
	}
}
