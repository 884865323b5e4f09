package main

import (
	"strings"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/values"
	"github.com/linkwright/linkwright/sync/cluster"
)

// besideValues: Helm upgrades an installation of Linkerd whose values linkwright set, without a conflict and without force. If linkwright owned the
// key, as after an ordinary server-side apply, Helm would fail.
func (s *server) besideValues() {
	const release = "control-plane"
	s.namespace(release)
	_, err := s.newInstall(release, release, action.DryRunNone).Run(installation(), map[string]any{"proxy": map[string]any{"logLevel": "warn"}})
	s.must(err)
	for _, level := range []string{"info", "warn"} {
		s.setLogLevel(release, object.Patch)
		s.must(s.upgradeLinkerd(release, level))
		if got := s.logLevel(release); got != `"`+level+`"` {
			s.Errorf("after the upgrade the level is %s, want Helm's %s", got, level)
		}
	}
	s.setLogLevel(release, object.Update)
	if err := s.upgradeLinkerd(release, "error"); err == nil || !strings.Contains(err.Error(), "conflict") {
		s.Errorf("the upgrade of a key that linkwright owns: %v, want a conflict", err)
	}
}

// installation is a chart with the one object of Linkerd's that this is about.
func installation() *chart.Chart {
	return &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "linkerd-control-plane", Version: "1.0.0"},
		Templates: []*common.File{{Name: "templates/config.yaml", Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: linkerd-config, namespace: {{.Release.Namespace}}}
data:
  values: |
    {{- toYaml .Values | nindent 4}}
`)}},
	}
}

func (s *server) upgradeLinkerd(release, level string) error {
	u := action.NewUpgrade(s.helm(release))
	u.Namespace, u.WaitStrategy, u.ServerSideApply = release, kube.HookOnlyStrategy, "auto"
	_, err := u.Run(release, installation(), map[string]any{"proxy": map[string]any{"logLevel": level}})
	return err
}

// config returns the live configuration, and does something with the connection.
func (s *server) config(namespace string, do func(*cluster.Client, linkerd.Config)) {
	s.Helper()
	registry := cluster.New(cluster.Options{})
	s.must(registry.Spawn(s.Context(), "west", s.cluster.Config))
	s.must(registry.WithClient(s.Context(), "west", func(c *cluster.Client) error {
		at := api.Linkerd{Namespace: namespace}
		k := linkerd.ConfigKey(at)
		live, err := c.Observe(s.Context(), []object.Watch{{Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole}})
		s.must(err)
		do(c, linkerd.ConfigOf(at, live))
		return nil
	}))
	s.must(registry.Stop(s.Context(), "west"))
}

// setLogLevel sets the level as linkwright does, by one action.
func (s *server) setLogLevel(namespace string, by object.Action) {
	s.Helper()
	s.config(namespace, func(c *cluster.Client, live linkerd.Config) {
		doc, err := values.Parse(live.Values)
		s.must(err)
		doc, err = doc.Set("proxy.logLevel", `"debug"`)
		s.must(err)
		part := live.Part(doc.String())
		_, err = c.Write(s.Context(), object.Change{Action: by, Key: part.Key, Object: part, Was: live.Record})
		s.must(err)
	})
	if got := s.logLevel(namespace); got != `"debug"` {
		s.Errorf("the level is %s, want it set", got)
	}
}

func (s *server) logLevel(namespace string) (level string) {
	s.Helper()
	s.config(namespace, func(_ *cluster.Client, live linkerd.Config) {
		doc, err := values.Parse(live.Values)
		s.must(err)
		level, _ = doc.Value("proxy.logLevel")
	})
	return level
}
