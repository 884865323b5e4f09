package fleet

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
)

func sopsProblem(at api.Pos) api.Problem {
	return secretAt(at, SopsFile, "this file is encrypted by sops, and linkwright does not decrypt files", "move it out of the directory that linkwright reads; for a credential, "+secretHint)
}

// sopsText is the line on which sops shows in a dotenv or an ini file, or 0. Under another name, only its last word counts.
func sopsText(name string, data []byte) int {
	begin := cmp.Or(map[string]string{".env": "sops_", ".ini": "[sops]"}[path.Ext(name)], "sops_mac=")
	if strings.HasPrefix(path.Base(name), ".env") {
		begin = "sops_"
	}
	for at := range occurrences(data, begin) {
		if at == 0 || data[at-1] == '\n' {
			return 1 + bytes.Count(data[:at], []byte("\n"))
		}
	}
	return 0
}

const pemBegin = "-----BEGIN "

// privateKeys returns what looks like a private key with a body. The column of a key that is found only in unescaped text is
// unknown.
func privateKeys(name string, data []byte) []api.Problem {
	out := slices.Concat(pemKeys(name, data), encodedKeys(name, data), puttyKeys(name, data))
	if len(out) > 0 || !bytes.Contains(data, []byte(escape)) {
		return out
	}
	out = pemKeys(name, unescaped(data))
	for i := range out {
		out[i].Pos.Col = 0
	}
	return out
}

// pemKeys finds keys in PEM.
func pemKeys(name string, data []byte) []api.Problem {
	var out []api.Problem
	after := 0 // the end of the last one, so that nothing is searched twice
	for at := range occurrences(data, pemBegin) {
		if at < after || len(out) >= maxSecrets {
			continue
		}
		if size := privateKey(data[at:]); size > 0 {
			out, after = append(out, secretAt(placeAt(name, data, at), PrivateKey, "this is a private key", "")), at+size
		}
	}
	return out
}

// puttyKeys finds keys as PuTTY saves them.
func puttyKeys(name string, data []byte) []api.Problem {
	const (
		begin, private = "PuTTY-User-Key-File-", "Private-Lines:"
		most           = 16 << 10 // bytes of the public key between the two
	)
	var out []api.Problem
	body, last := -1, 0
	for at := range occurrences(data, begin) {
		if at < last || len(out) >= maxSecrets {
			continue
		}
		if body < at {
			next := bytes.Index(data[at:], []byte(private))
			if next < 0 {
				return out
			}
			body = at + next + len(private)
		}
		if body-at < most && keyBody(bytes.TrimLeft(data[body:], " 0123456789")) > 0 {
			out, last = append(out, secretAt(placeAt(name, data, at), PrivateKey, "this is a private key of PuTTY", "")), body
		}
	}
	return out
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

// keyBody is the length of a key's body with what may be before it, or 0.
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

// gap is the length of what may be between the lines of a key: blanks, quotes, newlines, also written as \n, and marks of quoted or
// commented lines. A closing quote needs a newline: a grep for the label has a file name behind it.
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
		value, ok := bytes.CutPrefix(text[:min(len(text), most)], []byte(h.name))
		if !ok {
			continue
		}
		if end := bytes.IndexAny(value, h.end); end > 0 {
			return len(h.name) + end
		}
		return 0
	}
	return 0
}

// encodedKeys finds keys in base64, as Secrets and kubeconfigs have them; other blocks, such as certificates, may be
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
			out = append(out, secretAt(placeAt(name, data, at), PrivateKey, "this is a private key in base64", ""))
		}
	}
	return out
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// escape begins what JSON, and YAML between double quotes, may write in place of an ASCII character.
const escape = `\u00`

// unescaped undoes such escapes of visible characters: lines stay as they are.
func unescaped(data []byte) []byte {
	out := make([]byte, 0, len(data))
	last := 0
	for at := range occurrences(data, escape) {
		digits := data[at+len(escape):]
		if len(digits) < 2 {
			break
		}
		if c := hexadecimal(digits[0])<<4 | hexadecimal(digits[1]); c > ' ' && c < 0x7f {
			out = append(append(out, data[last:at]...), c)
			last = at + len(escape) + 2
		}
	}
	return append(out, data[last:]...)
}

// hexadecimal is the value of a digit; of anything else, one that makes no visible character.
func hexadecimal(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|' ' && c|' ' <= 'f':
		return c | ' ' - 'a' + 10
	}
	return 0xff
}

// asUTF8 removes byte order marks, and converts UTF-16 to UTF-8.
func asUTF8(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return fromUTF16(data[2:], binary.BigEndian)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) && len(data) >= 4 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data[2:]))); pair != utf8.RuneError {
				r, data = pair, data[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
