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

const pemBegin = "-----BEGIN "

// privateKeys gives what looks like a PEM private key, with a body: words about one are none.
func privateKeys(name string, data []byte) []api.Problem {
	var out []api.Problem
	after := 0 // the end of the last one: nothing is looked at twice
	for at := range occurrences(data, pemBegin) {
		if at < after || len(out) >= maxSecrets {
			continue
		}
		if size := privateKey(data[at:]); size > 0 {
			out, after = append(out, secretAt(placeAt(name, data, at), PrivateKey, "a private key stands here", "")), at+size
		}
	}
	return append(out, encodedKeys(name, data)...)
}

// privateKey is the length of a private key, as far as it matters, that a text begins with, or 0: a label with all its dashes,
// and right behind it a body.
func privateKey(text []byte) int {
	const most = 64
	label, _, closed := bytes.Cut(text[len(pemBegin):min(len(text), most)], []byte("-----"))
	kind := bytes.TrimSuffix(label, []byte(" BLOCK")) // of PGP
	foreign := func(r rune) bool { return r != ' ' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	if !closed || !bytes.HasSuffix(kind, []byte("PRIVATE KEY")) || bytes.ContainsFunc(label, foreign) {
		return 0
	}
	begin := len(pemBegin) + len(label) + len("-----")
	if size := keyBody(text[begin:]); size > 0 {
		return begin + size
	}
	return 0
}

// keyBody is the length of a key's body, as far as it shows, with what may stand before it, or 0.
func keyBody(text []byte) int {
	const enough = 32 // characters of base64, one after another
	at := gap(text)
	for size := pemHeader(text[at:]); size > 0; size = pemHeader(text[at:]) {
		at += size
		at += gap(text[at:])
	}
	for i := range enough {
		if at+i >= len(text) || !isBase64(text[at+i]) {
			return 0
		}
	}
	return at + enough
}

// gap is the length of what may stand between the lines of a key: blanks, quotes, newlines, also written as \n, and what marks
// a line as quoted or out commented. A closing quote wants a newline: who greps for a label names a file behind it.
func gap(text []byte) int {
	const most = 512
	broken, quoted := false, false
	i := 0
	for ; i < min(len(text), most); i++ {
		switch c := text[i]; {
		case c == '\n' || c == '\\' && isEscape(text[i+1:]):
			broken = true
		case c == '"' || c == '\'':
			quoted = true
		case (c == 'n' || c == 'r' || c == 't') && i > 0 && text[i-1] == '\\':
		case bytes.IndexByte([]byte(" \t\r\\"), c) >= 0, broken && (c == '>' || c == '#'):
		case quoted && !broken:
			return 0
		default:
			return i
		}
	}
	return i
}

func isEscape(text []byte) bool { return len(text) > 0 && (text[0] == 'n' || text[0] == 'r') }

// pemHeader is the length of a header that a text begins with, or 0. A value of one word ends with it: a folded key goes on.
func pemHeader(text []byte) int {
	const most = 256
	for _, h := range []struct{ name, end string }{
		{"Proc-Type: ", " \r\n\\"},
		{"DEK-Info: ", " \r\n\\"},
		{"Version: ", "\r\n\\"},
		{"Comment: ", "\r\n\\"},
		{"Charset: ", "\r\n\\"},
		{"Hash: ", "\r\n\\"},
	} {
		if end := bytes.IndexAny(text[:min(len(text), most)], h.end[len(h.end)-3:]); end > len(h.name) && bytes.HasPrefix(text, []byte(h.name)) {
			return len(h.name) + bytes.IndexAny(text[len(h.name):end+1], h.end)
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
