package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

func TestSecretsRedactThemselves(t *testing.T) {
	type holder struct {
		S Secret
		B Body
		O Object
		P *Secret
	}
	s := NewSecret([]byte("hush"))
	type closed struct{ o Object }
	h := holder{s, NewBody([]byte(`{"data":"hush"}`)), Object{Body: NewBody([]byte(`"hush"`))}, &s}
	for _, v := range []any{h.B, &h.B, []Body{h.B}, struct{ b Body }{h.B}, h, &h, h.S, &h.S, h.O, []Secret{s}, []Object{h.O}, map[string]Body{"b": h.B}, Change{Object: h.O}, Desired{Objects: []Object{h.O}}, NewObservation(nil, Layer{Items: []Item{{Body: h.B}}}), closed{h.O}, &closed{h.O}, []closed{{h.O}}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			checkRedacted(t, v, verb, fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(fmt.Sprint(v))
		if err != nil {
			t.Fatal(err)
		}
		checkRedacted(t, v, "json", string(text))
		for _, handler := range []func(*bytes.Buffer) slog.Handler{
			func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
			func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		} {
			var out bytes.Buffer
			slog.New(handler(&out)).Info("told", "value", v)
			checkRedacted(t, v, "slog", out.String())
		}
	}
	text, err := json.Marshal(h)
	if err != nil || strings.Contains(string(text), "hush") || !strings.Contains(string(text), redacted) {
		t.Errorf("json: got %s, %v", text, err)
	}
	if string(s.Bytes()) != "hush" {
		t.Error("Bytes: the value is gone")
	}
}

// checkRedacted fails where the value shows as it is, in hex or as a list of bytes.
func checkRedacted(t *testing.T, v any, how, text string) {
	t.Helper()
	for _, shown := range []string{"hush", "68757368", "104 117 115 104", "0x68, 0x75, 0x73, 0x68", "aHVzaA"} {
		if strings.Contains(text, shown) {
			t.Errorf("%s of %T shows the value: %s", how, v, text)
		}
	}
}

func TestPrint(t *testing.T) {
	a, b := NewSecret([]byte("a")), NewSecret([]byte("b"))
	prints := []string{a.Fingerprint("k"), b.Fingerprint("k"), a.Fingerprint("l")}
	if slices.Sort(prints); len(slices.Compact(prints)) != 3 || len(prints[0]) != 12 {
		t.Errorf("Print: got %v, want three of twelve digits", prints)
	}
	// HMAC-SHA-256, RFC 4231 test case 2.
	if got := NewSecret([]byte("what do ya want for nothing?")).Fingerprint("Jefe"); got != "5bdcc146bf60" {
		t.Errorf("Print: got %s, want 5bdcc146bf60", got)
	}
}
