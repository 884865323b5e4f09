package object

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// listing is a body as inventories are: mostly one name, again and again.
func listing(name, uid string) Body {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"linkwright.west.%s","uid":"%s","resourceVersion":"%d"},"data":{"inventory.json":"`, name, uid, len(name)*7919)
	for _, kind := range []string{"ServiceAccount", "Secret", "Service", "Deployment", "Link", "Role", "RoleBinding", "ClusterRoleBinding"} {
		fmt.Fprintf(&b, `{\"kind\":\"%s\",\"namespace\":\"linkerd-multicluster\",\"name\":\"linkerd-service-mirror-%s\"},`, kind, name)
	}
	return NewBody([]byte(b.String() + `"}}`))
}

func TestLike(t *testing.T) {
	first := listing("east-0001", "9f1c2d3e-0000-4a5b-8c6d-1e2f3a4b5c6d")
	for _, b := range []Body{
		listing("east-0002", "11111111-2222-4333-8444-555566667777"),
		listing("prod-eu-central-1-b", "11111111-2222-4333-8444-555566667777"),
		listing("x", ""),
		first,
	} {
		got, ok := b.Like(first)
		switch {
		case !bytes.Equal(got.Bytes(), b.Bytes()):
			t.Errorf("Like: got %s, want %s", got.Bytes(), b.Bytes())
		case !ok || got.IsZero():
			t.Errorf("Like: %s is not kept as what differs (%v)", b.Bytes(), got.IsZero())
		case len((*got.at).json)*4 > len(b.Bytes()):
			t.Errorf("Like: %d B of %d are kept", len((*got.at).json), len(b.Bytes()))
		}
		if again, ok := got.Like(first); ok || again != got {
			t.Error("Like: what is kept as a difference is kept as one again")
		}
		if again, ok := first.Like(got); ok || again != first {
			t.Error("Like: a difference serves as the other text")
		}
	}
}

func TestLikeOfWhatIsNot(t *testing.T) {
	some := NewBody([]byte(`{"data":{"a":"b"}}`))
	for _, pair := range [][2]Body{{{}, some}, {some, {}}, {some, NewBody([]byte(`{"metadata":{"name":"quite another one"}}`))}, {NewBody([]byte{}), some}} {
		if got, ok := pair[0].Like(pair[1]); ok || got != pair[0] {
			t.Errorf("Like(%s of %s): got %s, %v", pair[0].Bytes(), pair[1].Bytes(), got.Bytes(), ok)
		}
	}
}

func TestBodyEqual(t *testing.T) {
	one, two, three := listing("east-0001", "u"), listing("east-0002", "u"), listing("east-0003", "u")
	packed := func(b, like Body) Body {
		got, ok := b.Like(like)
		if !ok {
			t.Fatal("Like: it is not kept as what differs")
		}
		return got
	}
	same := []Body{two, listing("east-0002", "u"), packed(two, one), packed(listing("east-0002", "u"), one), packed(two, three)}
	for i, a := range same {
		for j, b := range same {
			if !a.Equal(b) {
				t.Errorf("Equal: %d is not %d", i, j)
			}
		}
		for j, b := range []Body{{}, one, three, packed(one, three), packed(three, one)} {
			if a.Equal(b) || b.Equal(a) {
				t.Errorf("Equal: %d is other %d", i, j)
			}
		}
	}
	if !(Body{}).Equal(NewBody([]byte{})) {
		t.Error("Equal: nothing is not nothing")
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte("a text that is there already, and that is long enough"), []byte("a text that is here already, and that is long enough, too"))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), []byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	f.Add(listing("a", "").Bytes(), listing("bcd", "0").Bytes())
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, like, text []byte) {
		packed, ok := pack(like, text)
		if ok && (!bytes.Equal(unpack(like, packed), text) || len(packed)*worth >= len(text)) {
			t.Errorf("pack(%q, %q) = %q: it unpacks to %q", like, text, packed, unpack(like, packed))
		}
	})
}

func BenchmarkLike(b *testing.B) {
	first, other := listing("east-0001", "9f1c2d3e-0000-4a5b-8c6d-1e2f3a4b5c6d"), listing("prod-0002", "11111111-2222-4333-8444-555566667777")
	packed, _ := other.Like(first)
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			other.Like(first)
		}
	})
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			packed.Bytes()
		}
	})
	b.ReportMetric(float64(len((*packed.at).json)), "B")
}
