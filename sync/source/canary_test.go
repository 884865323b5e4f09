package source_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// sharp is a canary that looks different in every encoding.
const sharp = canary + "/é&%1+"

// hidden wants no trace of a canary in whatever shows some values: printed, logged, raw, in base64 or escaped for a URL.
func hidden(t *testing.T, values ...any) {
	t.Helper()
	var out bytes.Buffer
	logs := []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))}
	for _, v := range values {
		_, _ = fmt.Fprintf(&out, "%v\n%+v\n%#v\n%s\n%q\n%d\n", v, v, v, v, v, v)
		for _, log := range logs {
			log.Info("shown", "value", v)
		}
	}
	for line := range strings.Lines(out.String()) {
		for _, form := range forms() {
			if strings.Contains(line, form) {
				t.Errorf("%q is shown: %s", form, line)
			}
		}
	}
}

// forms returns how a canary may look: base64 depends on how many bytes stand before it.
func forms() []string {
	out := []string{canary, url.QueryEscape(sharp), url.PathEscape(sharp)}
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + canary))
		out = append(out, text[4:len(text)-4])
	}
	return out
}

// TestForms keeps the search itself honest.
func TestForms(t *testing.T) {
	for _, text := range []string{
		sharp, url.UserPassword("a", sharp).String(), "Basic " + base64.StdEncoding.EncodeToString([]byte("git:"+sharp)),
		base64.StdEncoding.EncodeToString([]byte("someone:" + sharp)), base64.StdEncoding.EncodeToString([]byte("an:" + sharp)),
	} {
		found := false
		for _, form := range forms() {
			found = found || strings.Contains(text, form)
		}
		if !found {
			t.Errorf("a canary in %q would not be found", text)
		}
	}
}

// with returns keys from pairs of name and value.
func with(pairs ...string) func(context.Context) (source.Keys, error) {
	keys := source.Keys{}
	for i := 0; i < len(pairs); i += 2 {
		keys[pairs[i]] = []byte(pairs[i+1])
	}
	return func(context.Context) (source.Keys, error) { return keys, nil }
}

func TestOptionsAndKeysHideWhatTheyHold(t *testing.T) {
	keys := source.Keys{}
	for _, name := range source.KeyNames() {
		keys[name] = []byte(sharp)
	}
	o := source.Options{
		Repo:  "https://" + url.UserPassword(sharp, sharp).String() + "@git.example.com/fleet.git",
		Proxy: "http://" + url.UserPassword("me", sharp).String() + "@proxy.example.com:3128",
		Keys:  with(source.KeyPassword, sharp),
	}
	s, err := source.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was stored
	hidden(t, keys, &keys, o, &o, s, []any{keys, o}, struct{ Keys source.Keys }{keys})
	if want := "https://git.example.com/fleet.git at HEAD"; o.String() != want {
		t.Errorf("String(): -want +got\n-%s\n+%s", want, o)
	}
	if text := keys.String(); !strings.Contains(text, "identity known_hosts") {
		t.Errorf("String() = %s does not name the keys", text)
	}
}
