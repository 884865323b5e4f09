package report

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// mask says what may be shown of a text or a body; hash gives what is shown in place of what may not.
//
//	in a Secret                            every value but apiVersion, kind, type, immutable and metadata
//	in any body                            values of fields and variables that are named like secrets, kubeconfigs,
//	                                       private keys, what kubectl remembers of the last apply
//	anywhere, also encoded as base64       tokens by their form, passwords in URLs, and every value that a
//	                                       Secret of the same report holds
//
// What cannot be decoded is not shown at all. Else, annotations are public.
type mask struct {
	hash   func(string) string
	known  *strings.Replacer
	tokens *regexp.Regexp // of well known forms
	logins *regexp.Regexp // in URLs
	fields *regexp.Regexp // name: value, in the text of a body
}

const hidden = "<redacted>"

// redacting is a mask for messages: nothing replaces a value, not even a hash.
func redacting(secrets []keyed) mask {
	var pairs []string
	for _, v := range valuesOf(secrets) {
		for _, form := range forms(v) {
			pairs = append(pairs, form, hidden)
		}
	}
	return mask{
		hash:  func(string) string { return hidden },
		known: strings.NewReplacer(pairs...),
		// JWT and whatever else begins as JSON in base64, such in base64 once more; tokens of GitHub, GitLab, AWS; bearers.
		tokens: regexp.MustCompile(`eyJ[A-Za-z0-9_+/-]{10,}(\.[A-Za-z0-9_-]*){0,2}=*|ZXlK[A-Za-z0-9_+/-]{10,}=*` +
			`|\b(gh[pousr]_|github_pat_|glpat-|A[KS]IA|AIza|xox[abeoprs]-|xapp-|hvs\.|npm_)[A-Za-z0-9_-]{16,}|(?i:\bbearer )[A-Za-z0-9._~+/=-]{20,}`),
		logins: regexp.MustCompile(`(://)[^/\s:@]*:[^/\s@]+@|(https?://)[^/\s@]+@`),
		fields: regexp.MustCompile(`(?i)\b(token|password|passwd|client-key-data|client-secret|private-key|secret-key|api-key)` +
			`(["']?\s*[:=]\s*["']?)([^\s"',;}]{4,})`),
	}
}

// hashing is the same mask for bodies: it shows that a value changed; without a key not even that.
func (m mask) hashing(key string) mask {
	if key != "" {
		m.hash = func(v string) string { return "<hash " + object.NewSecret([]byte(v)).Fingerprint(key) + ">" }
	}
	return m
}

// line is one printable line without secrets.
func (m mask) line(s string) string { return line(m.message(s)) }

// reason masks the message; codes are ours.
func (m mask) reason(r *object.Reason) *object.Reason {
	if r == nil {
		return nil
	}
	return &object.Reason{Code: reason.Code(line(string(r.Code))), Message: m.line(r.Message), Command: m.line(r.Command)}
}

// message masks what is a secret by its form or its value.
func (m mask) message(s string) string {
	if secretText(s) {
		return m.hash(s)
	}
	s = m.known.Replace(s)
	s = m.tokens.ReplaceAllStringFunc(s, m.hash)
	return m.logins.ReplaceAllString(s, "${1}${2}"+hidden+"@")
}

// text masks a string of a body.
func (m mask) text(s string) string {
	if raw, ok := decoded(s); ok && (secretText(raw) || m.message(raw) != raw) {
		return m.hash(raw)
	}
	return m.fields.ReplaceAllStringFunc(m.message(s), func(found string) string {
		part := m.fields.FindStringSubmatch(found)
		if strings.HasPrefix(part[3], "<") {
			return found // masked already
		}
		return part[1] + part[2] + m.hash(part[3])
	})
}

// secretText is a kubeconfig or a private key: of such nothing is shown.
func secretText(s string) bool {
	return strings.Contains(s, "PRIVATE KEY-----") || strings.Contains(s, "client-key-data") ||
		strings.Contains(s, "users") && strings.Contains(s, "contexts") && strings.Contains(s, "clusters")
}

// decoded undoes base64, of any alphabet, padded or not; shorter strings hold no secret.
func decoded(s string) (string, bool) {
	if len(s) < 16 {
		return "", false
	}
	bare := strings.TrimRight(strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(s), "=")
	raw, err := base64.RawStdEncoding.DecodeString(bare)
	return string(raw), err == nil
}

// value masks a value of a body that is not a Secret; name is that of its field, empty where it says nothing.
func (m mask) value(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return m.fieldsOf(name, v)
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = m.value(name, x)
		}
		return out
	case nil, bool:
		return v
	case string:
		if secretName(name) {
			return m.hash(v)
		}
		return m.text(v)
	}
	if secretName(name) {
		return m.hash(fmt.Sprint(v))
	}
	return v
}

func (m mask) fieldsOf(name string, v map[string]any) map[string]any {
	public := name == "annotations" || name == "labels"
	variable, _ := v["name"].(string)
	out := make(map[string]any, len(v))
	for k, x := range v {
		field := k
		switch {
		case k == lastApplied:
			x, field = m.hash(fmt.Sprint(x)), ""
		case public:
			field = ""
		case k == "value" && secretVariable(variable):
			field = "token"
		}
		out[m.known.Replace(k)] = m.value(field, x)
	}
	return out
}

// lastApplied is where kubectl keeps a whole object, as an annotation.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// all masks every value of a part of a Secret. What data holds is hashed as what it encodes, so that it
// has the hash of the same value in stringData.
func (m mask) all(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[m.known.Replace(k)] = m.all(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = m.all(x)
		}
		return out
	case nil:
		return nil
	}
	return m.hash(fmt.Sprint(v))
}

func (m mask) data(v any) any {
	entries, ok := v.(map[string]any)
	if !ok {
		return m.all(v)
	}
	plain := make(map[string]any, len(entries))
	for k, x := range entries {
		plain[k] = x
		if s, ok := x.(string); ok {
			if raw, err := base64.StdEncoding.DecodeString(s); err == nil {
				plain[k] = string(raw)
			}
		}
	}
	return m.all(plain)
}

// secretName: fields whose value is a secret, in any spelling. Names of Secrets are no secrets.
func secretName(name string) bool {
	bare := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	return slices.Contains([]string{
		"token", "password", "passwd", "clientkey", "clientkeydata", "clientsecret", "privatekey", "secretkey", "apikey",
		"idtoken", "accesstoken", "refreshtoken", "bearertoken", "kubeconfig",
	}, bare)
}

// secretVariable: environment variables, and whatever else has a name and a value.
func secretVariable(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"token", "password", "passwd", "secret", "credential", "private_key", "api_key", "apikey"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
