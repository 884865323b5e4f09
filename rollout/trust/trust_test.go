package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// authority is a certificate that can sign others.
type authority struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// now is the time of all tests: years before anchors expire, and a month after the issuers were made.
func now() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

func month() time.Time { return now().AddDate(0, -1, 0) }

// made makes an authority that another one signs; nil: itself does.
func made(t *testing.T, name string, by *authority, from, until time.Time) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, name, &authority{key: key}, by, [2]time.Time{from, until})
}

// signed makes another certificate with the key of an authority.
func signed(t *testing.T, name string, of, by *authority, valid [2]time.Time) *authority {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: valid[0], NotAfter: valid[1],
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	parent, key := template, of.key
	if by != nil {
		parent, key = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &of.key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{c, of.key}
}

func text(all ...*authority) string {
	var b strings.Builder
	for _, a := range all {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Raw}))
	}
	return b.String()
}

// rig has an old and a new anchor, and an issuer of each.
type rig struct{ old, new, oldIssuer, newIssuer *authority }

func newRig(t *testing.T) rig {
	t.Helper()
	root := func(name string, years int) *authority {
		return made(t, name, nil, now().AddDate(-years, 0, 0), now().AddDate(10-years, 0, 0))
	}
	r := rig{old: root("old", 8), new: root("new", 1)}
	r.oldIssuer = made(t, "issuer", r.old, month(), now().AddDate(1, 0, 0))
	r.newIssuer = made(t, "issuer", r.new, month(), now().AddDate(1, 0, 0))
	return r
}

// proxies are proxies that know the same anchors.
func proxies(n int, anchors ...*authority) []Proxy {
	out := make([]Proxy, n)
	for i := range out {
		out[i].Anchors = text(anchors...)
	}
	return out
}

// cluster is a cluster whose two proxies know what its bundle has.
func (r rig) cluster(issuer *authority, bundle ...*authority) Cluster {
	return Cluster{
		Name: "east", Namespace: "linkerd", Bundle: Bundle{Text: text(bundle...)}, Issuer: Issuer{Certificates: text(issuer), Changed: month()},
		Workloads: []Workload{{Kind: "Deployment", Namespace: "shop", Name: "web", Proxies: proxies(2, bundle...)}},
	}
}

func with(c Cluster, change func(*Cluster)) Cluster {
	change(&c)
	return c
}

// west is the same in another cluster.
func west(c Cluster) Cluster { return with(c, func(c *Cluster) { c.Name = "west" }) }

func explain(err error) object.Reason { return *object.Because(reason.Forbidden, "%s", err.Error()) }

// show is needs as lines.
func show(needs []Need) (out []string) {
	for _, n := range needs {
		line := string(n.Cluster) + " " + n.Object.Kind + "/" + n.Object.Name + " " + string(n.Why.Code)
		if n.Unknown {
			line += "?"
		}
		out = append(out, line)
	}
	return out
}

// TestRotation goes through the stages of a rotation in two clusters: which of both anchors may be removed, and who needs it.
func TestRotation(t *testing.T) {
	r := newRig(t)
	both := []*authority{r.old, r.new}
	oldOnly := r.cluster(r.oldIssuer, r.old)
	bundled := with(r.cluster(r.oldIssuer, both...), func(c *Cluster) { c.Workloads[0].Proxies = proxies(2, r.old) })
	restarted, issued := r.cluster(r.oldIssuer, both...), r.cluster(r.newIssuer, both...)
	half := with(r.cluster(r.newIssuer, both...), func(c *Cluster) { c.Workloads[0].Proxies = append(proxies(1, r.old), proxies(2, both...)...) })
	fresh := with(issued, func(c *Cluster) { c.Issuer.Changed = now().Add(-23 * time.Hour) })
	done := r.cluster(r.newIssuer, r.new)
	for _, tt := range []struct {
		name       string
		east, west Cluster
		old, new   []string
	}{
		{name: "before", east: oldOnly, west: oldOnly, old: []string{
			"east ConfigMap/linkerd-identity-trust-roots LastTrustAnchor", "east Secret/linkerd-identity-issuer IssuerUsesAnchor", "east Deployment/web ProxyNeedsAnchor",
			"west ConfigMap/linkerd-identity-trust-roots LastTrustAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Deployment/web ProxyNeedsAnchor",
		}},
		{name: "one bundle has both", east: bundled, west: oldOnly, old: []string{
			"east Secret/linkerd-identity-issuer IssuerUsesAnchor", "east Deployment/web ProxyNeedsAnchor",
			"west ConfigMap/linkerd-identity-trust-roots LastTrustAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Deployment/web ProxyNeedsAnchor",
		}},
		{name: "both restarted", east: restarted, west: restarted, old: []string{
			"east Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor",
		}},
		{name: "one has its new issuer", east: issued, west: restarted, old: []string{"west Secret/linkerd-identity-issuer IssuerUsesAnchor"}, new: []string{
			"east Secret/linkerd-identity-issuer IssuerUsesAnchor",
		}},
		{name: "a new issuer before the restart", east: half, west: issued, old: []string{"east Deployment/web ProxyNeedsAnchor"}, new: []string{
			"east Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor",
		}},
		{name: "a new issuer and a bundle without its anchor", east: issued, west: oldOnly, old: []string{
			"west ConfigMap/linkerd-identity-trust-roots LastTrustAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Deployment/web ProxyNeedsAnchor",
		}, new: []string{"east Secret/linkerd-identity-issuer IssuerUsesAnchor"}},
		{name: "a former issuer", east: fresh, west: issued, old: []string{"east Secret/linkerd-identity-issuer FormerIssuer?"}, new: []string{
			"east Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor",
		}},
		{name: "all is new", east: issued, west: issued, new: []string{
			"east Secret/linkerd-identity-issuer IssuerUsesAnchor", "west Secret/linkerd-identity-issuer IssuerUsesAnchor",
		}},
		{name: "removed in one", east: done, west: issued, new: []string{
			"east ConfigMap/linkerd-identity-trust-roots LastTrustAnchor", "east Secret/linkerd-identity-issuer IssuerUsesAnchor", "east Deployment/web ProxyNeedsAnchor",
			"west Secret/linkerd-identity-issuer IssuerUsesAnchor",
		}},
	} {
		m := Of([]Cluster{tt.east, west(tt.west)}, explain)
		for _, x := range m.Anchors() {
			want := tt.old
			if x.Subject == "new" {
				want = tt.new
			}
			if diff := cmp.Diff(want, show(m.Needs(x, now()))); diff != "" {
				t.Errorf("%s: needs of %s: -want +got\n%s", tt.name, x.Subject, diff)
			}
		}
	}
}

// TestUnknown: what is not known is never a yes.
func TestUnknown(t *testing.T) {
	r := newRig(t)
	good := r.cluster(r.newIssuer, r.old, r.new)
	stranger := made(t, "stranger", nil, month(), now().AddDate(1, 0, 0))
	for _, tt := range []struct {
		name   string
		change func(*Cluster)
		want   []string
		answer string
	}{
		{name: "all is known", change: func(*Cluster) {}, answer: object.True},
		{name: "a cluster was not read", change: func(c *Cluster) { *c = Cluster{Name: c.Name, Err: errors.New("down")} }, want: []string{"east Cluster/east Forbidden?"}},
		{name: "there is no bundle", change: func(c *Cluster) { c.Err = ErrNoBundle }, want: []string{"east Cluster/east LinkerdNotInstalled?"}},
		{name: "the bundle is empty", change: func(c *Cluster) { c.Bundle.Text = "" }, want: []string{"east ConfigMap/linkerd-identity-trust-roots Unknown?"}},
		{name: "the bundle is not complete", change: func(c *Cluster) { c.Bundle.Text = text(stranger, r.old) }, want: []string{"east ConfigMap/linkerd-identity-trust-roots TrustAnchorMissing"}, answer: object.False},
		{name: "the issuer may not be read", change: func(c *Cluster) { c.Issuer.Err = errors.New("no") }, want: []string{"east Secret/linkerd-identity-issuer Forbidden?"}},
		{name: "there is no Secret", change: func(c *Cluster) { c.Issuer.Err = ErrNoIssuer }, want: []string{"east Secret/linkerd-identity-issuer IssuerUnknown?"}},
		{name: "the issuer is no certificate", change: func(c *Cluster) { c.Issuer.Certificates = "x" }, want: []string{"east Secret/linkerd-identity-issuer IssuerUnknown?"}},
		{name: "an unknown anchor signs", change: func(c *Cluster) {
			c.Issuer.Certificates = text(made(t, "issuer", stranger, month(), now().AddDate(1, 0, 0)))
		}, want: []string{"east Secret/linkerd-identity-issuer IssuerUnknown?"}},
		{name: "the values may not be read", change: func(c *Cluster) { c.Issuer.ValuesErr = errors.New("no") }, want: []string{"east ConfigMap/linkerd-config Forbidden?"}},
		{name: "the values are none", change: func(c *Cluster) { c.Issuer.Values = "{" }, want: []string{"east ConfigMap/linkerd-config Forbidden?"}},
		{name: "the lifetime is none", change: func(c *Cluster) { c.Issuer.Values = "identity: {issuer: {issuanceLifetime: a day}}" }, want: []string{"east ConfigMap/linkerd-config Forbidden?"}},
		{name: "the issuer was renewed", change: func(c *Cluster) { c.Issuer.Changed = now().Add(-23 * time.Hour) }, want: []string{"east Secret/linkerd-identity-issuer FormerIssuer?"}},
		{name: "nobody knows when the issuer changed", change: func(c *Cluster) { c.Issuer.Changed = time.Time{} }, want: []string{"east Secret/linkerd-identity-issuer FormerIssuer?"}},
		{name: "nobody knows when the issuer changed, but its anchor", change: func(c *Cluster) { c.Issuer.Changed, c.Issuer.Since = time.Time{}, month() }, answer: object.True},
		{name: "the issuer was renewed by the same anchor", change: func(c *Cluster) { c.Issuer.Changed, c.Issuer.Since = now().Add(-23*time.Hour), month() }, answer: object.True},
		{name: "a proxy shows nothing", change: func(c *Cluster) { c.Workloads = []Workload{{Kind: "Pod", Name: "bare", Proxies: proxies(1)}} }, want: []string{"east Pod/bare ProxyAnchorsUnknown?"}},
		{name: "the issuer expired", change: func(c *Cluster) {
			c.Issuer.Certificates = text(made(t, "issuer", r.new, month(), now().Add(-time.Hour)))
		}, want: []string{"east Secret/linkerd-identity-issuer IssuerExpired"}, answer: object.False},
	} {
		if tt.answer == "" {
			tt.answer = object.Unknown
		}
		m := Of([]Cluster{with(good, tt.change), west(good)}, explain)
		needs := m.Needs(m.Named("old")[0], now())
		if diff := cmp.Diff(tt.want, show(needs)); diff != "" || Removable(needs) != tt.answer {
			t.Errorf("%s: removable %s, want %s; needs: -want +got\n%s", tt.name, Removable(needs), tt.answer, diff)
		}
	}
}

// TestFormer: certificates live for their lifetime after the issuer changed, however that shows, or after the time since when its anchor is the same.
// The message names the flag as long as nobody gave that time.
func TestFormer(t *testing.T) {
	r := newRig(t)
	const never = "nothing shows when the Secret was last written"
	renewed := now().Add(-time.Hour)
	young := made(t, "issuer", r.new, now().Add(-24*time.Hour), now().AddDate(1, 0, 0))
	for _, tt := range []struct {
		name   string
		issuer Issuer
		until  string // words of the message; empty: it is over
	}{
		{name: "a month ago", issuer: Issuer{Certificates: text(r.newIssuer), Changed: month()}},
		{name: "the certificate is new", issuer: Issuer{Certificates: text(young), Changed: month()}, until: "until 2026-07-01T12:05:00Z"},
		{name: "the Secret is new", issuer: Issuer{Certificates: text(r.newIssuer), Changed: now().Add(-time.Hour)}, until: "until 2026-07-02T11:05:00Z"},
		{name: "certificates live long", issuer: Issuer{Certificates: text(r.newIssuer), Changed: month(), Values: "identity: {issuer: {issuanceLifetime: 960h0m0s}}"}, until: "until 2026-07-11T12:05:00Z"},
		{name: "no time, and an old certificate", issuer: Issuer{Certificates: text(r.newIssuer)}, until: never},
		{name: "no time, and a new certificate", issuer: Issuer{Certificates: text(young)}, until: never},
		{name: "no time, and the same anchor for a month", issuer: Issuer{Certificates: text(young), Since: month()}},
		{name: "no time, and the same anchor for an hour", issuer: Issuer{Certificates: text(r.newIssuer), Since: renewed}, until: "until 2026-07-02T11:05:00Z"},
		{name: "the same anchor for a month", issuer: Issuer{Certificates: text(young), Changed: renewed, Since: month()}},
		{name: "the same anchor since yesterday", issuer: Issuer{Certificates: text(young), Changed: renewed, Since: now().Add(-23 * time.Hour)}, until: "until 2026-07-01T13:05:00Z"},
		{name: "no change since the anchor is the same", issuer: Issuer{Certificates: text(r.newIssuer), Changed: month(), Since: now()}},
		{name: "the same anchor for a month, and certificates live long", issuer: Issuer{
			Certificates: text(young), Changed: renewed, Since: month(), Values: "identity: {issuer: {issuanceLifetime: 960h0m0s}}",
		}, until: "until 2026-07-11T12:05:00Z"},
		{name: "certificates live short", issuer: Issuer{Certificates: text(r.newIssuer), Changed: now().Add(-time.Hour), Values: "identity: {issuer: {issuanceLifetime: 10m}}"}},
	} {
		c := with(r.cluster(r.newIssuer, r.old, r.new), func(c *Cluster) { c.Issuer = tt.issuer })
		m := Of([]Cluster{c}, explain)
		needs := m.Needs(m.Named("old")[0], now())
		if tt.until == "" && len(needs) > 0 || tt.until != "" && (len(needs) != 1 || !strings.Contains(needs[0].Why.Message, tt.until)) {
			t.Errorf("%s: got %+v, want %q", tt.name, needs, tt.until)
		}
		for _, n := range needs {
			if named := strings.Contains(n.Why.Message, "--issuers-since"); !n.Unknown || named != tt.issuer.Since.IsZero() {
				t.Errorf("%s: unknown %v, and the flag is named: %v: %s", tt.name, n.Unknown, named, n.Why.Message)
			}
		}
	}
}

// TestSigns: intermediates lead to an anchor, a renewed anchor of the same key signs as well, and one that expired is found.
func TestSigns(t *testing.T) {
	r := newRig(t)
	between := made(t, "between", r.new, month(), now().AddDate(2, 0, 0))
	below := made(t, "issuer", between, month(), now().AddDate(1, 0, 0))
	renewed := signed(t, "old", r.old, nil, [2]time.Time{month(), now().AddDate(9, 0, 0)})
	ended := made(t, "ended", nil, now().AddDate(-9, 0, 0), now().AddDate(0, 0, -1))
	ofEnded := made(t, "issuer", ended, month(), now().AddDate(1, 0, 0))
	for _, tt := range []struct {
		name   string
		chain  []*authority
		bundle []*authority
		want   []string // who needs the first anchor
	}{
		{name: "over an intermediate", chain: []*authority{below, between}, bundle: []*authority{r.old, r.new}},
		{name: "without it", chain: []*authority{below}, bundle: []*authority{r.old, r.new}, want: []string{"east Secret/linkerd-identity-issuer IssuerUnknown?"}},
		{name: "the anchor was renewed", chain: []*authority{r.oldIssuer}, bundle: []*authority{r.old, renewed}},
		{name: "the other anchor expired", chain: []*authority{ofEnded}, bundle: []*authority{r.old, ended}, want: []string{"east Secret/linkerd-identity-issuer IssuerExpired"}},
	} {
		c := r.cluster(tt.chain[0], tt.bundle...)
		c.Issuer.Certificates = text(tt.chain...)
		m := Of([]Cluster{c}, explain)
		x := parse(text(tt.bundle[0]))[0]
		if diff := cmp.Diff(tt.want, show(m.Needs(x, now()))); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// TestBundled: a proxy that took its anchors from the bundle knows them if its pod shows the hash of today, or its container started after the change.
func TestBundled(t *testing.T) {
	r := newRig(t)
	bundle := text(r.old, r.new)
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	for _, tt := range []struct {
		name    string
		proxy   Proxy
		changed time.Time
		want    int
	}{
		{name: "nothing shows it", proxy: Proxy{Bundled: true}, changed: month()},
		{name: "the hash of the injector", proxy: Proxy{Bundled: true, Hash: hash(bundle)}, want: 1},
		{name: "the hash of the chart", proxy: Proxy{Bundled: true, Hash: hash(strings.TrimSpace(bundle))}, want: 1},
		{name: "the hash of another bundle", proxy: Proxy{Bundled: true, Hash: hash(text(r.old))}, changed: month()},
		{name: "a hash, and anchors from elsewhere", proxy: Proxy{Hash: hash(bundle)}},
		{name: "started later", proxy: Proxy{Bundled: true, Started: month().Add(3 * time.Minute)}, changed: month(), want: 1},
		{name: "started at the same time", proxy: Proxy{Bundled: true, Started: month().Add(time.Minute)}, changed: month()},
		{name: "nobody knows when the bundle changed", proxy: Proxy{Bundled: true, Started: now()}},
	} {
		c := r.cluster(r.newIssuer)
		c.Bundle, c.Workloads[0].Proxies = Bundle{bundle, tt.changed}, []Proxy{tt.proxy}
		for _, row := range Of([]Cluster{c}, explain).Rows() {
			want := Count{All: 1, Know: tt.want, Unknown: 1 - tt.want}
			if row.Proxies != want {
				t.Errorf("%s: %s is known by %+v, want %+v", tt.name, row.Anchor.Subject, row.Proxies, want)
			}
		}
	}
}

// TestRows: an anchor has a row in each cluster in which something has it.
func TestRows(t *testing.T) {
	r := newRig(t)
	east := r.cluster(r.oldIssuer, r.old, r.new)
	east.Workloads[0].Proxies = append(proxies(1, r.old), Proxy{})
	other := west(r.cluster(r.newIssuer, r.new))
	other.Issuer.Err = ErrNoIssuer
	type row struct {
		Where     string
		InBundle  bool
		Signs     string
		All, Know int
	}
	var got []row
	for _, r := range Of([]Cluster{east, other, {Name: "north", Err: errors.New("down")}}, explain).Rows() {
		got = append(got, row{string(r.Cluster) + " " + r.Anchor.Subject, r.InBundle, r.Signs, r.Proxies.All, r.Proxies.Know})
	}
	want := []row{{"east old", true, "True", 2, 1}, {"east new", true, "False", 2, 0}, {"west new", true, "Unknown", 2, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestNamed: an anchor is named by its common name, or by the first digits of its fingerprint.
func TestNamed(t *testing.T) {
	r := newRig(t)
	namesake := made(t, "old", nil, month(), now().AddDate(9, 0, 0))
	m := Of([]Cluster{r.cluster(r.newIssuer, r.old, r.new, namesake)}, explain)
	digits := parse(text(r.new))[0].Fingerprint
	var colons []string
	for i := 0; i < len(digits); i += 2 {
		colons = append(colons, strings.ToUpper(digits[i:i+2]))
	}
	for name, want := range map[string]int{
		"new": 1, "old": 2, "root": 0, "": 0, ":": 0, digits: 1, digits[:16]: 1, digits[:16] + "0": 0, strings.Join(colons, ":"): 1,
	} {
		if strings.HasPrefix(digits, name) && want == 0 && name != "" {
			continue // the digit after the sixteenth happens to be a zero
		}
		if got := m.Named(name); len(got) != want {
			t.Errorf("%q names %d anchors, want %d", name, len(got), want)
		}
	}
}
