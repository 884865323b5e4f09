package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

const (
	chartDir   = "deploy/chart"
	namespace  = "linkwright"
	valuesPage = "docs/reference/values.md"
	policies   = "templates/confine/confine.yaml"
	monitoring = "deploy/monitoring"
	schemaFile = "values.schema.json"
	valuesFile = "values.yaml"
)

// File is a file of the repository.
type File struct {
	Path string // from the root of the repository
	Text []byte
}

// Files returns every generated file of a checkout, in order of their paths:
//
//	deploy/chart/templates/confine/…   from package confine, which knows the admission policies
//	deploy/chart/monitoring/…          from deploy/monitoring, because a chart reads no file outside of it
//	deploy/chart/values.schema.json    its value config from docs/schema/config.json
//	deploy/chart/values.yaml           from values.schema.json
//	docs/reference/values.md           from values.schema.json
//	deploy/BASE/FILE.yaml              the template of the same path, rendered for kustomize
func Files(root string) ([]File, error) {
	sources, err := read(filepath.Join(root, chartDir))
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(root, configSchema))
	if err != nil {
		return nil, err
	}
	if sources[schemaFile], err = withConfig(sources[schemaFile], config); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", chartDir, schemaFile, err)
	}
	schema, err := parseSchema(sources[schemaFile])
	if err != nil {
		return nil, fmt.Errorf("parse %s/%s: %w", chartDir, schemaFile, err)
	}
	sources[valuesFile] = schema.values()
	if sources[policies], err = policiesTemplate(); err != nil {
		return nil, err
	}
	shown, err := monitoringFiles(root, sources)
	if err != nil {
		return nil, err
	}
	out, err := bases(sources)
	if err != nil {
		return nil, err
	}
	out = append(append(out, shown...),
		File{path.Join(chartDir, policies), sources[policies]},
		File{path.Join(chartDir, schemaFile), sources[schemaFile]},
		File{path.Join(chartDir, valuesFile), sources[valuesFile]},
		File{valuesPage, schema.page()})
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// monitoringFiles returns the chart's copies of the alerts and the dashboard, and has the sources hold them.
func monitoringFiles(root string, sources map[string][]byte) (out []File, err error) {
	for _, name := range []string{"dashboard.json", "rules.yaml"} {
		copied := path.Join("monitoring", name)
		if sources[copied], err = os.ReadFile(filepath.Join(root, monitoring, name)); err != nil {
			return nil, err
		}
		out = append(out, File{path.Join(chartDir, copied), sources[copied]})
	}
	return out, nil
}

// read returns the files of a directory by their paths in it.
func read(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(name)], err = os.ReadFile(file)
		return err
	})
	return out, err
}

// load returns the chart of some files.
func load(sources map[string][]byte) (*chart.Chart, error) {
	var files []*archive.BufferedFile
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		files = append(files, &archive.BufferedFile{Name: name, Data: sources[name]})
	}
	return loader.LoadFiles(files)
}

// bases renders the files of kustomize's bases.
func bases(sources map[string][]byte) ([]File, error) {
	texts := map[string]string{}
	for _, values := range baseValues() {
		c, err := load(sources)
		if err != nil {
			return nil, err
		}
		rendered, err := renderAs("kustomize", c, values)
		if err != nil {
			return nil, fmt.Errorf("render bases: %w", err)
		}
		for name, text := range rendered {
			if text = strings.TrimLeft(text, "\n"); strings.TrimSpace(text) != "" {
				texts[name] = text
			}
		}
	}
	var out []File
	for name, text := range texts {
		at := strings.TrimPrefix(name, "linkwright/templates/")
		if path.Ext(at) == ".yaml" && path.Dir(at) != "." {
			out = append(out, File{path.Join("deploy", at), []byte(head(at) + strings.TrimRight(text, "\n") + "\n")})
		}
	}
	return out, nil
}

func head(file string) string {
	return "# Generated from deploy/chart/templates/" + file + " (make generate).\n"
}

// renderAs renders a chart for a service, which is Helm in Helm itself. It does not check values, since placeholders in bases are no valid names.
func renderAs(service string, c *chart.Chart, values map[string]any) (map[string]string, error) {
	all, err := util.ToRenderValuesWithSchemaValidation(c, values, common.ReleaseOptions{Name: "linkwright", Namespace: namespace, IsInstall: true}, capabilities("v1.30.0"), true)
	if err != nil {
		return nil, err
	}
	all["Release"].(map[string]any)["Service"] = service
	return engine.Render(c, all)
}

// capabilities are those of a cluster of a version. Those that Helm assumes without a cluster depend on Helm.
func capabilities(version string) *common.Capabilities {
	out := common.DefaultCapabilities.Copy()
	out.KubeVersion = common.KubeVersion{Version: version}
	return out
}

// baseValues are the values of kustomize's bases. Names that an overlay must replace are no valid names, so they grant nothing.
func baseValues() []map[string]any {
	one := func(mode string, hook string) map[string]any {
		return map[string]any{
			"mode":       mode,
			"management": map[string]any{"secrets": []any{"access-SECRET"}},
			"member":     map[string]any{"enabled": true, "sweep": true, "targets": []any{"TARGET"}},
			"git":        map[string]any{"url": "https://git.example.com/mesh/fleet.git", "existingSecret": "linkwright-git"},
			"hook":       map[string]any{"existingSecret": hook},
			"image":      map[string]any{"repository": "ghcr.io/linkwright/linkwright", "tag": "latest"},
		}
	}
	daemon := one("Deployment", "linkwright-hook")
	for _, part := range []string{"serviceMonitor", "prometheusRule"} { // kustomize makes the dashboard's ConfigMap itself
		daemon[part] = map[string]any{"enabled": true}
	}
	return []map[string]any{daemon, one("CronJob", "")}
}

// example are the least values of a management cluster.
func example() map[string]any {
	return map[string]any{
		"git":   map[string]any{"url": "https://git.example.com/mesh/fleet.git"},
		"image": map[string]any{"repository": "registry.example.com/linkwright"},
	}
}

// lines puts a text into lines of at most a width, each with a prefix.
func lines(out *bytes.Buffer, prefix, text string, width int) {
	line := prefix
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != prefix {
			out.WriteString(line + "\n")
			line = prefix
		}
		line += " " + word
	}
	out.WriteString(line + "\n")
}
