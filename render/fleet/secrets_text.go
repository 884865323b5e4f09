package fleet

import (
	"bytes"
	"encoding/base64"
	"path"
	"strings"

	"github.com/linkwright/linkwright/api"
)

func sopsProblem(at api.Pos) api.Problem {
	return secretAt(at, SopsFile, "this file is encrypted by sops, and linkwright decrypts nothing", "leave it out of what linkwright reads: "+wayOfSecrets)
}

// sopsText is the line on which sops shows in a dotenv or an ini file, or 0.
func sopsText(name string, data []byte) int {
	begin := map[string]string{".env": "sops_", ".ini": "[sops]"}[path.Ext(name)]
	if strings.HasPrefix(path.Base(name), ".env") {
		begin = "sops_"
	}
	if begin == "" {
		return 0
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if bytes.HasPrefix(line, []byte(begin)) {
			return number
		}
	}
	return 0
}

// privateKeys gives what looks like a PEM private key, with a body: words about one are none.
func privateKeys(name string, data []byte) []api.Problem {
	var out []api.Problem
	after := 0 // the end of the last one: nothing is looked at twice
	for at := range occurrences(data, "-----BEGIN ") {
		if at < after || len(out) >= maxSecrets {
			continue
		}
		if size := privateKey(data[at:]); size > 0 {
			out, after = append(out, secretAt(placeAt(name, data, at), PrivateKey, "a private key stands here", "")), at+size
		}
	}
	return append(out, encodedKeys(name, data)...)
}

// privateKey is the length of a private key, as far as it matters, that a text begins with, or 0. It ends before the next
// row of dashes.
func privateKey(text []byte) int {
	const (
		label = 64
		body  = 32 // characters of base64, one after another
	)
	head := text[:min(len(text), label)]
	i := bytes.Index(head, []byte("PRIVATE KEY"))
	if i < 0 || bytes.IndexByte(head[:i], '\n') >= 0 {
		return 0
	}
	run := 0
	rest := bytes.TrimLeft(text[i+len("PRIVATE KEY"):], " BLOCK-")
	for at, c := range rest {
		switch {
		case isBase64(c):
			run++
		case c == '-' && bytes.HasPrefix(rest[at:], []byte("-----")):
			return 0
		default:
			run = 0
		}
		if run == body {
			return len(text) - len(rest) + at
		}
	}
	return 0
}

// encodedKeys finds keys in base64, as Secrets and kubeconfigs have them; other blocks, certificates above all, may stand
// before them.
func encodedKeys(name string, data []byte) []api.Problem {
	const begin = "LS0tLS1CRUdJTi" // -----BEGIN
	var out []api.Problem
	after := 0
	for at := range occurrences(data, begin) {
		if at < after || len(out) >= maxSecrets {
			continue
		}
		end := at
		for end < len(data) && isBase64(data[end]) {
			end++
		}
		after = end
		text, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(data[at:at+(end-at)/4*4]), "=")) // as far as it goes
		if bytes.Contains(text, []byte("PRIVATE KEY")) {
			out = append(out, secretAt(placeAt(name, data, at), PrivateKey, "a private key, in base64, stands here", ""))
		}
	}
	return out
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}
