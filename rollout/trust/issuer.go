package trust

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// Secret is the name of the Secret of a cluster's issuer, and ConfigMap that of Linkerd's values.
const (
	Secret    = "linkerd-identity-issuer"
	ConfigMap = "linkerd-config"
)

// ErrNoIssuer means that the Secret of the issuer does not exist, or has no certificate.
var ErrNoIssuer = errors.New("there is no certificate of an issuer")

// ErrNoBundle means that the ConfigMap of the bundle does not exist.
var ErrNoBundle = errors.New("there is no bundle of trust anchors")

// Issuer is what makes the certificates of a cluster's proxies.
type Issuer struct {
	Certificates string    // PEM: its certificate, and then those between it and its anchor
	Changed      time.Time // when the Secret was last written; zero: not known
	Since        time.Time // since when the anchor that signs it now has signed it, as somebody said; zero: nobody did
	Err          error     // why they are not known; nil: they are
	Values       string    // of Linkerd's installation, in YAML
	ValuesErr    error     // why these are not known; nil: they are
}

// defaultLifetime is that of certificates for proxies, if the values name none (linkerd2 charts/linkerd-control-plane/values.yaml,
// identity.issuer.issuanceLifetime).
const defaultLifetime = 24 * time.Hour

// issuerDelay is for how long after a change of the Secret the identity controller may make certificates by the former one, and how much longer than
// their lifetime these are valid: a kubelet passes a Secret on after two minutes at most, and the allowance for clocks is 20 seconds.
const issuerDelay = 5 * time.Minute

// lifetime is that of the certificates that the issuer makes.
func (i Issuer) lifetime() (time.Duration, error) {
	if i.ValuesErr != nil {
		return 0, i.ValuesErr
	}
	var v struct {
		Identity struct {
			Issuer struct {
				IssuanceLifetime string `json:"issuanceLifetime"`
			} `json:"issuer"`
		} `json:"identity"`
	}
	if err := yaml.Unmarshal([]byte(i.Values), &v); err != nil {
		return 0, fmt.Errorf("read the values of %s: %w", ConfigMap, err)
	}
	text := v.Identity.Issuer.IssuanceLifetime
	if text == "" {
		return defaultLifetime, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("identity.issuer.issuanceLifetime of %s is %q, and no duration", ConfigMap, text)
	}
	return d, nil
}

// former is until when certificates may be valid that the issuer of another anchor made; zero: not known.
func (c *cluster) former() (time.Time, error) {
	lifetime, err := c.Issuer.lifetime()
	last := c.reissued()
	if err != nil || last.IsZero() {
		return time.Time{}, err
	}
	return last.Add(lifetime + issuerDelay).UTC(), nil
}

// reissued is when the issuer may last have changed its anchor; zero: not known. A renewal hides which anchor signed the issuer before it, so each
// counts as a change of the anchor, unless somebody said since when it is the same. The certificate alone shows nothing: it may be older than
// its place in the Secret.
func (c *cluster) reissued() time.Time {
	last, since := c.Issuer.Changed, c.Issuer.Since
	if made := c.chain[0].NotBefore; !last.IsZero() && made.After(last) {
		last = made
	}
	if last.IsZero() || !since.IsZero() && since.Before(last) {
		return since
	}
	return last
}
