package fleet

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
)

// Rollout says how workloads of a cluster restart that run outdated proxies. Defaults are filled in.
type Rollout struct {
	api.Rollout
	Wave int     // the cluster's place in the order of the waves, from 0
	From string  // such as "ProxyConfig base"
	At   api.Pos // of spec.rollout

	priority int32
}

// wavesOf returns the selectors of a rollout's waves. One that is wrong selects nothing: Check reports it.
func wavesOf(d declared[api.ProxyConfigDoc]) (out []labels.Selector) {
	if d.value.Spec.Rollout == nil {
		return nil
	}
	for i := range d.value.Spec.Rollout.Waves {
		s, err := metav1.LabelSelectorAsSelector(&d.value.Spec.Rollout.Waves[i])
		if err != nil {
			s = labels.Nothing()
		}
		out = append(out, s)
	}
	return out
}

// mergeRollout gives a cluster the rollout of a ProxyConfig, unless it has one of a higher priority.
func (j *joiner) mergeRollout(c *Cluster, p *proxyConfig) {
	declared := p.value.Spec.Rollout
	if declared == nil || c.leaving() {
		return
	}
	r := &Rollout{Rollout: declared.WithDefaults(), From: "ProxyConfig " + p.name(), At: p.at("spec", "rollout"), priority: p.value.Spec.Priority}
	switch was := c.Rollout; {
	case was == nil:
		c.Rollout, r.Wave = r, waveOf(c, p.waves)
	case was.priority == r.priority && p.clash(was.From, "rollout"):
		j.failTwice(r.At, was.At, fmt.Sprintf("%s and %s both declare the rollout of cluster %s with priority %d", was.From, r.From, c.Name, r.priority),
			"remove one, or declare another spec.priority")
	}
}

// waveOf returns the first wave that selects a cluster; none: the one after the last.
func waveOf(c *Cluster, waves []labels.Selector) int {
	if at := slices.IndexFunc(waves, func(s labels.Selector) bool { return s.Matches(labels.Set(c.Labels)) }); at >= 0 {
		return at
	}
	return len(waves)
}
