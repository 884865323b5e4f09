package fleet

import (
	"encoding/base64"
	"strings"
	"testing"
	"testing/fstest"
)

const varied = "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6gH7iJ8kL9mN0"

// token is made here, so that nobody who scans this repository finds one.
func token(begin string, size int) string { return begin + varied[:size] }

func webToken(head, body string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString([]byte(body)) + "." + varied[:43]
}

// Tokens of other services are found in any text, and never repeated.
func TestTokens(t *testing.T) {
	jwt := webToken(`{"alg":"RS256"}`, `{"sub":"a"}`)
	upper := strings.ToUpper(varied)
	for name, tt := range map[string]struct{ text, says string }{
		"GitHub":              {token("ghp_", 36), "a token of GitHub"},
		"GitHub, of an app":   {token("ghs_", 36), "a token of GitHub"},
		"GitHub, fine":        {token("github_pat_", 22) + "_" + varied[:59], "a token of GitHub"},
		"GitLab":              {token("glpat-", 20), "a token of GitLab"},
		"AWS":                 {"AKIA" + upper[:16], "an access key of AWS"},
		"AWS, for a while":    {"ASIA" + upper[:16], "an access key of AWS"},
		"Google":              {token("AIza", 35), "an API key of Google"},
		"Slack":               {"xoxb-123456789012-" + varied[:24], "a token of Slack"},
		"Slack, a webhook":    {"https://hooks.slack.com/services/T" + upper[:8] + "/B" + upper[8:16] + "/" + varied[:24], "a webhook of Slack"},
		"Vault":               {token("hvs.", 24), "a token of Vault"},
		"age":                 {"AGE-SECRET-KEY-1" + upper[:58], "a private key of age"},
		"npm":                 {token("npm_", 36), "a token of npm"},
		"JSON Web Token":      {jwt, "a JSON Web Token"},
		"stands for one":      {"ghp_" + strings.Repeat("x", 36), ""},
		"an example of AWS":   {"AKIAIOSFODNN7" + "EXAMPLE", ""},
		"words":               {"xoxb-your-" + "token-goes-here-please", ""},
		"words of GitLab":     {"glpat-your-" + "gitlab-token-here-ok", ""},
		"words of Vault":      {"hvs.your-" + "vault-token-goes-here", ""},
		"too short":           {token("ghp_", 20), ""},
		"part of a word":      {"x" + token("ghp_", 36), ""},
		"longer than any":     {"AKIA" + upper[:17], ""},
		"no algorithm":        {webToken(`{}`, `{"sub":"a"}`), ""},
		"no JSON":             {webToken(`{"alg`, `{"sub":"a"}`), ""},
		"two parts":           {strings.Join(strings.Split(jwt, ".")[:2], "."), ""},
		"base64 of JSON":      {base64.StdEncoding.EncodeToString([]byte(`{"alg":"RS256","some":"more of it"}`)), ""},
		"a digest":            {"sha256:" + strings.Repeat("0123456789abcdef", 4), ""},
		"a word of the issue": {"ghp_TOKEN and xoxb-TOKEN", ""},
	} {
		for _, file := range []string{".env", "notes.txt", "deep/script.sh", "east.yaml"} {
			found := Secrets(fstest.MapFS{file: {Data: []byte("# before\nA=" + tt.text + "\n")}})
			switch {
			case tt.says == "" && len(found) > 0:
				t.Errorf("%s in %s: %v", name, file, found)
			case tt.says == "":
			case len(found) != 1 || found[0].Code != Token || !strings.HasPrefix(found[0].Message, "this is "+tt.says) || found[0].Pos.Line != 2:
				t.Errorf("%s in %s: %v", name, file, found)
			case strings.Contains(found[0].String(), varied[:12]):
				t.Errorf("%s in %s is repeated: %v", name, file, found[0])
			}
		}
		if found := Secrets(fstest.MapFS{"README.md": {Data: []byte(tt.text)}}); len(found) > 0 {
			t.Errorf("%s in what shows others how it looks: %v", name, found)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, kind := range tokenKinds() {
		f.Add([]byte(kind.begin + varied))
	}
	f.Add([]byte(webToken(`{"alg":"RS256"}`, `{}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range tokens("a.txt", data) {
			if p.Pos.Line < 1 || p.Pos.Col < 1 || p.Pos.Line > 1+strings.Count(string(data), "\n") {
				t.Errorf("%v", p.Pos)
			}
		}
	})
}
