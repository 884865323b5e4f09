package fleet

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// mayHoldSecrets reports whether a text has one of the words that every kind of secret contains. Nearly all files have none, and are
// not parsed.
func mayHoldSecrets(data []byte) bool {
	return isKey(data, "sops") || isKey(data, "secretGenerator") || isKey(data, "users") ||
		isSecretKind(data) && (isKey(data, "data") || isKey(data, "stringData"))
}

// isKey reports whether a word is followed by a colon somewhere.
func isKey(data []byte, word string) bool {
	for at := range occurrences(data, word) {
		rest := bytes.TrimLeft(head(data[at+len(word):]), "\"'")
		if bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte(":")) {
			return true
		}
	}
	return false
}

// isSecretKind reports whether the word Secret follows "kind:" somewhere.
func isSecretKind(data []byte) bool {
	for at := range occurrences(data, "Secret") {
		before := bytes.TrimRight(data[max(0, at-nearby):at], "\"' \t\n")
		if before, colon := bytes.CutSuffix(before, []byte(":")); colon && bytes.HasSuffix(bytes.TrimRight(before, "\"' \t"), []byte("kind")) {
			return true
		}
	}
	return false
}

// nearby is the number of blanks and quotes that may be between a word and its colon or value.
const nearby = 32

func head(data []byte) []byte { return data[:min(len(data), nearby)] }

// occurrences returns the offsets of a word.
func occurrences(data []byte, word string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; ; at += len(word) {
			next := bytes.Index(data[at:], []byte(word))
			if next < 0 || !yield(at+next) {
				return
			}
			at += next
		}
	}
}

// secretsIn returns the secrets of one document.
func secretsIn(p parsed) []api.Problem {
	if key := keyNode(p.root, "sops"); key != nil && (structured(p.file) || child(child(p.root, "sops"), "mac") != nil) {
		return []api.Problem{sopsProblem(p.pos(key))}
	}
	return p.secretsOf(p.root)
}

// secretsOf searches an object, and each one in a list.
func (p parsed) secretsOf(n *yaml.Node) []api.Problem {
	var out []api.Problem
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			out = append(out, p.secretsOf(item)...)
		}
		return out
	}
	if items := child(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
		out = p.secretsOf(items)
	}
	switch text(child(n, "kind")) {
	case "Secret":
		out = append(out, p.manifest(n)...)
	case "", "Config":
		out = append(out, p.kubeconfig(n)...)
	}
	if generator := keyNode(n, "secretGenerator"); generator != nil {
		out = append(out, secretAt(p.pos(generator), SecretGenerator, "secretGenerator generates a Secret from files in Git",
			"a secret does not belong in Git: "+secretHint))
	}
	return out
}

// manifest reports a Secret with data.
func (p parsed) manifest(n *yaml.Node) []api.Problem {
	for _, field := range []string{"data", "stringData"} {
		if data := child(n, field); data != nil && (structured(p.file) || p.anyHasValue(data)) {
			at := p.pos(keyNode(n, field))
			return []api.Problem{secretAt(at, SecretManifest, strings.TrimSpace(fmt.Sprintf("%s holds %s", identity(n), field)), "")}
		}
	}
	return nil
}

// kubeconfig reports the credentials of all users, not paths of files.
func (p parsed) kubeconfig(n *yaml.Node) []api.Problem {
	users := child(n, "users")
	if users == nil || users.Kind != yaml.SequenceNode {
		return nil
	}
	var out []api.Problem
	for i, entry := range users.Content {
		user := child(entry, "user")
		given := func(of *yaml.Node, field string) {
			if key := keyNode(of, field); key != nil && p.hasValue(child(of, field)) {
				out = append(out, secretAt(p.pos(key), KubeconfigCredential, fmt.Sprintf("users[%d] of this kubeconfig: %s is a credential", i, field), ""))
			}
		}
		for _, field := range []string{"token", "password", "client-key-data"} {
			given(user, field)
		}
		for _, field := range []string{"access-token", "refresh-token", "id-token", "client-secret"} {
			given(child(child(user, "auth-provider"), "config"), field)
		}
		out = append(out, p.plugin(user, i)...)
	}
	return out
}

// plugin reports environment variables of exec plugins whose names mean a secret.
func (p parsed) plugin(user *yaml.Node, i int) []api.Problem {
	env := child(child(user, "exec"), "env")
	if env == nil || env.Kind != yaml.SequenceNode {
		return nil
	}
	var out []api.Problem
	for _, variable := range env.Content {
		name := strings.ToUpper(text(child(variable, "name")))
		secret := slices.ContainsFunc([]string{"SECRET", "TOKEN", "PASSWORD"}, func(word string) bool { return strings.Contains(name, word) })
		if secret && p.hasValue(child(variable, "value")) {
			out = append(out, secretAt(p.pos(keyNode(variable, "value")), KubeconfigCredential,
				fmt.Sprintf("users[%d] of this kubeconfig: exec gets a credential from %s", i, short(name)), ""))
		}
	}
	return out
}

// hasValue reports whether a field has a value, and no reference to one.
func (p parsed) hasValue(n *yaml.Node) bool {
	something := n != nil && n.Kind == yaml.ScalarNode && n.Value != "" && n.ShortTag() != "!!null"
	return something && (structured(p.file) || !isReference(n.Value))
}

func (p parsed) anyHasValue(n *yaml.Node) bool {
	for i := 1; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if p.hasValue(n.Content[i]) {
			return true
		}
	}
	return false
}

// isReference reports whether a value is a variable of a template or a placeholder.
func isReference(value string) bool {
	return strings.HasPrefix(value, "<") || slices.ContainsFunc([]string{"{{", "${", "$("}, func(mark string) bool { return strings.Contains(value, mark) })
}

// keyNode is the node of the key itself.
func keyNode(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
			return n.Content[i]
		}
	}
	return nil
}
