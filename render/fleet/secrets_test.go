package fleet

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"
)

// Editors and shells write a mark before a text, or every character in two bytes.
func TestSecretsOfAnyEncoding(t *testing.T) {
	const text = "# ключ 🔑\nkind: Secret\nmetadata: {name: east}\ndata: {token: canary}\n"
	wide := func(mark string, high, low int) string {
		var b strings.Builder
		b.WriteString(mark)
		for _, u := range utf16.Encode([]rune(text)) {
			b.WriteByte(byte(u >> high))
			b.WriteByte(byte(u >> low))
		}
		return b.String()
	}
	for name, data := range map[string]string{
		"UTF-8": text, "UTF-8 with a mark": "\xef\xbb\xbf" + text,
		"UTF-16LE": wide("\xff\xfe", 0, 8), "UTF-16BE": wide("\xfe\xff", 8, 0), "cut": wide("\xff\xfe", 0, 8) + "x",
	} {
		found := Secrets(fstest.MapFS{"east.yaml": {Data: []byte(data)}})
		if len(found) != 1 || found[0].Code != SecretManifest || found[0].Pos.Line != 4 || found[0].Pos.Col != 1 {
			t.Errorf("Secrets(%s) = %v", name, found)
		}
	}
}
