package fleet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// tokenKind is the format of one issuer's tokens: a prefix that nothing else has, and a number of characters of a set. The rules are
// those that the issuers publish, and those of gitleaks (config/gitleaks.toml).
type tokenKind struct {
	of          string // in words
	begin       string
	more        string // characters beside letters and digits
	least, most int    // characters behind the beginning
	upper       bool   // capital letters and digits alone
}

func tokenKinds() []tokenKind {
	const longest = 255
	return []tokenKind{
		{"a token of GitHub", "ghp_", "", 36, longest, false},
		{"a token of GitHub", "gho_", "", 36, longest, false},
		{"a token of GitHub", "ghu_", "", 36, longest, false},
		{"a token of GitHub", "ghs_", "", 36, longest, false},
		{"a token of GitHub", "ghr_", "", 36, longest, false},
		{"a token of GitHub", "github_pat_", "_", 60, longest, false},
		{"a token of GitLab", "glpat-", "_-.", 20, longest, false},
		{"an access key of AWS", "AKIA", "", 16, 16, true},
		{"an access key of AWS", "ASIA", "", 16, 16, true},
		{"an API key of Google", "AIza", "_-", 35, 35, false},
		{"a token of Slack", "xoxb-", "-", 20, longest, false},
		{"a token of Slack", "xoxp-", "-", 20, longest, false},
		{"a token of Slack", "xoxa-", "-", 20, longest, false},
		{"a token of Slack", "xoxr-", "-", 20, longest, false},
		{"a token of Slack", "xoxs-", "-", 20, longest, false},
		{"a token of Slack", "xapp-", "-", 20, longest, false},
		{"a webhook of Slack", "hooks.slack.com/services/T", "/", 30, longest, false},
		{"a token of Vault", "hvs.", "_-", 24, longest, false},
		{"a private key of age", "AGE-SECRET-KEY-1", "", 58, 58, true},
		{"a token of npm", "npm_", "", 36, 36, false},
	}
}

// tokens returns what looks like a token for other services, unless the file is an example.
func tokens(name string, data []byte) []api.Problem {
	if isExample(name) {
		return nil
	}
	out := webTokens(name, data)
	for _, kind := range tokenKinds() {
		after := 0 // the end of the last one: nothing is read twice
		for at := range occurrences(data, kind.begin) {
			if len(out) >= maxSecrets {
				return out
			}
			if at < after || inWord(data, at) {
				continue
			}
			body := kind.body(data[at+len(kind.begin):])
			if after = at + len(kind.begin) + len(body); kind.fits(body) {
				out = append(out, secretAt(placeAt(name, data, at), Token, "this is "+kind.of, ""))
			}
		}
	}
	return out
}

// inWord reports whether a word began before an offset.
func inWord(data []byte, at int) bool { return at > 0 && isWord(data[at-1]) }

func isWord(c byte) bool { return isBase64(c) && c != '+' && c != '/' || c == '_' }

// body is the longest beginning of a text that may be a token's body, or one character more than the longest body.
func (k tokenKind) body(text []byte) []byte {
	n := 0
	for n < len(text) && n <= k.most && k.has(text[n]) {
		n++
	}
	return text[:n]
}

// fits reports whether a body has a token's length and characters, and is no placeholder.
func (k tokenKind) fits(body []byte) bool {
	return len(body) >= k.least && len(body) <= k.most && !isPlaceholder(body)
}

func (k tokenKind) has(c byte) bool {
	if k.upper {
		return 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	return isBase64(c) && c != '+' && c != '/' || strings.IndexByte(k.more, c) >= 0
}

// isPlaceholder reports whether a text is a placeholder: it has few different characters, or is called an example.
func isPlaceholder(body []byte) bool {
	const varied = 8
	seen, mixed := map[byte]bool{}, false
	for _, c := range body {
		seen[c] = true
		mixed = mixed || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' // words have neither
	}
	return len(seen) < varied || !mixed || bytes.Contains(bytes.ToUpper(body), []byte("EXAMPLE"))
}

// webTokens finds JSON Web Tokens: two parts that are JSON, of which the first names an algorithm, and a signature (RFC 7515).
func webTokens(name string, data []byte) []api.Problem {
	const begin, most = "eyJ", 16 << 10 // {" in base64; bytes of a token
	var out []api.Problem
	after := 0
	for at := range occurrences(data, begin) {
		if at < after || inWord(data, at) {
			continue
		}
		if len(out) >= maxSecrets {
			break
		}
		end := at
		for end < len(data) && end-at < most && (isWord(data[end]) || data[end] == '-' || data[end] == '.') {
			end++
		}
		if after = end; isWebToken(string(data[at:end])) {
			out = append(out, secretAt(placeAt(name, data, at), Token, "this is a JSON Web Token", ""))
		}
	}
	return out
}

func isWebToken(text string) bool {
	const signature = 20 // characters at least
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(parts[2]) < signature {
		return false
	}
	var head struct {
		Algorithm string `json:"alg"`
	}
	var body map[string]any
	for at, into := range []any{&head, &body} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[at])
		if err != nil || json.Unmarshal(raw, into) != nil {
			return false
		}
	}
	return head.Algorithm != ""
}
