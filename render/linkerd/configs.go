package linkerd

import (
	"slices"
	"sync"

	"sigs.k8s.io/yaml"
)

// Configs remembers what Linkerd's last configurations said: of most clusters it is the same text, and YAML takes long. The
// zero one is ready. Many may use it at once.
type Configs struct {
	mu   sync.Mutex
	last []configured // the newest first
}

type configured struct {
	text string
	says values
}

// values is what is read of a configuration.
type values struct{ ClusterDomain, IdentityTrustDomain, IdentityTrustAnchorsPEM, LinkerdVersion string }

// mostConfigs are remembered: where all are different, they are looked through in vain.
const mostConfigs = 4

func (said *Configs) decode(text string) (v values, err error) {
	if v, ok := said.known(text); ok {
		return v, nil
	}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return v, err
	}
	said.mu.Lock()
	defer said.mu.Unlock()
	said.last = slices.Concat([]configured{{text, v}}, said.last[:min(len(said.last), mostConfigs-1)])
	return v, nil
}

func (said *Configs) known(text string) (v values, ok bool) {
	said.mu.Lock()
	defer said.mu.Unlock()
	i := slices.IndexFunc(said.last, func(c configured) bool { return c.text == text })
	if i < 0 {
		return v, false
	}
	return said.last[i].says, true
}
