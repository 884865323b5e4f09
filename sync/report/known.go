package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/object"
)

// keyed is a body with the key it is known by, since a patch does not say of what kind it is.
type keyed struct {
	key  object.Key
	body object.Body
}

// shortestSecret is how long a value must be to be masked in messages: a shorter one is part of any word.
const shortestSecret = 8

// valuesOf gives what Secrets hold, the longest first, since one may be part of another.
func valuesOf(bodies []keyed) []string {
	var out []string
	for _, b := range bodies {
		if b.key.Kind != "Secret" && !bytes.Contains(b.body.Bytes(), []byte(`Secret`)) {
			continue // it is not worth decoding
		}
		tree, ok := decode(b.body.Bytes())
		if ok && isSecret(b.key, tree) {
			out = append(out, entries(tree["data"], true)...)
			out = append(out, entries(tree["stringData"], false)...)
		}
	}
	out = slices.DeleteFunc(out, func(v string) bool { return len(v) < shortestSecret })
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(out)
}

// entries gives the values of data or stringData. What a token Secret holds beside its token is public.
func entries(v any, encoded bool) []string {
	m, _ := v.(map[string]any)
	var out []string
	for k, x := range m {
		s, ok := x.(string)
		if !ok || k == "namespace" || strings.HasSuffix(k, ".crt") {
			continue
		}
		if raw, err := base64.StdEncoding.DecodeString(s); encoded && err == nil {
			s = string(raw)
		}
		if users := usersOf(s); len(users) > 0 {
			out = append(out, users...)
			continue // what is around them is public, and no message that holds a kubeconfig is shown
		}
		out = append(out, s, strings.TrimSpace(s))
	}
	return out
}

// usersOf gives the credentials inside a kubeconfig, encoded ones also as what they encode.
func usersOf(config string) []string {
	var c struct {
		Users []struct {
			User any `json:"user"`
		} `json:"users"`
	}
	if yaml.Unmarshal([]byte(config), &c) != nil {
		return nil
	}
	var out []string
	for _, u := range c.Users {
		out = append(out, leaves(u.User)...)
	}
	for _, v := range slices.Clone(out) {
		if raw, ok := decoded(v); ok {
			out = append(out, raw)
		}
	}
	return out
}

func leaves(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case map[string]any:
		for _, x := range v {
			out = append(out, leaves(x)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, leaves(x)...)
		}
	}
	return out
}

// forms are the spellings of a value that are masked: itself, as in JSON, and inside anything that
// is encoded as base64.
func forms(v string) []string {
	out := []string{v}
	if quoted, err := json.Marshal(v); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			out = append(out, inner(enc, shift, v))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < shortestSecret })
}

// inner is what base64 makes of v when it is shift bytes behind a group of three: the characters
// that depend on v alone.
func inner(enc *base64.Encoding, shift int, v string) string {
	s := enc.EncodeToString(append(make([]byte, shift), v...))
	end := len(s)
	if (shift+len(v))%3 != 0 {
		end--
	}
	return s[min([]int{0, 2, 3}[shift], end):end]
}
