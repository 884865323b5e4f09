package linkerd

import (
	"slices"
	"sync"

	"sigs.k8s.io/yaml"
)

// Configs caches decoded configurations of Linkerd: most clusters have the same text, and decoding YAML is slow. The
// zero value is ready. It is safe for concurrent use.
type Configs struct {
	mu   sync.Mutex
	last []cachedConfig // newest first
}

type cachedConfig struct {
	text   string
	values values
}

// values are the fields of a configuration that linkwright reads.
type values struct{ ClusterDomain, IdentityTrustDomain, IdentityTrustAnchorsPEM, LinkerdVersion string }

// maxConfigs are cached. If all clusters differ, a longer list is searched in vain.
const maxConfigs = 4

func (c *Configs) decode(text string) (v values, err error) {
	if v, ok := c.find(text); ok {
		return v, nil
	}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.Concat([]cachedConfig{{text, v}}, c.last[:min(len(c.last), maxConfigs-1)])
	return v, nil
}

func (c *Configs) find(text string) (v values, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.last, func(c cachedConfig) bool { return c.text == text })
	if i < 0 {
		return v, false
	}
	return c.last[i].values, true
}
