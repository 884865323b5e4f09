package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkValidate is the whole command, process start included; peak-MB is the most that its process held, children apart.
func BenchmarkValidate(b *testing.B) {
	b.Run("mesh of 1000", func(b *testing.B) { benchmarkValidate(b, plainClusters(1000, "")) })
	b.Run("200 links in a file", func(b *testing.B) { benchmarkValidate(b, ring(100)) })
	b.Run("20 overlays", func(b *testing.B) { benchmarkValidate(b, plainClusters(20, "overlays/%s")) })
}

func benchmarkValidate(b *testing.B, tree map[string]string) {
	dir := b.TempDir()
	for name, text := range tree {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	peak := int64(0)
	for b.Loop() {
		var out bytes.Buffer
		c := exec.CommandContext(b.Context(), self, "validate", "--strict", "--max-links", "1000000", dir)
		c.Args[0], c.Stdout, c.Stderr = "linkwright", &out, &out
		if err := c.Run(); err != nil {
			b.Fatalf("%v\n%s", err, out.String())
		}
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(peak)/1024, "peak-MB")
}

// plainClusters are n of them with a mesh of all, each with an overlay of its own where one is named.
func plainClusters(n int, overlay string) map[string]string {
	tree := map[string]string{"mesh.yaml": "apiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: all}\nspec: {clusters: {}}\n"}
	if overlay != "" {
		tree["mesh.yaml"] = ""
	}
	for i := range n {
		name := fmt.Sprintf("c%04d", i)
		text := "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec:\n  access: {kubeconfigSecret: {name: " + name + "}}\n"
		if overlay != "" {
			dir := fmt.Sprintf(overlay, name)
			text += "  overlay: " + dir + "\n---\n" + plainLink(i, (i+1)%n)
			tree[dir+"/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels:\n- pairs: {example.com/number: " + name + "}\n" +
				"patches:\n- target: {kind: Deployment}\n  patch: '- {op: add, path: /spec/minReadySeconds, value: 3}'\nresources: [policy.yaml]\n"
			tree[dir+"/policy.yaml"] = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: quiet}\nspec: {podSelector: {}}\n"
		}
		tree[name+".yaml"] = text
	}
	return tree
}

func plainLink(source, target int) string {
	return fmt.Sprintf("apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: l%d-%d}\nspec: {source: c%04d, target: c%04d}\n", source, target, source, target)
}

// ring is one file in which n clusters are linked with the next one, both ways.
func ring(n int) map[string]string {
	var b strings.Builder
	for i := range n {
		next := (i + 1) % n
		fmt.Fprintf(&b, "---\napiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%04d}\nspec:\n  access: {kubeconfigSecret: {name: c%04d}}\n", i, i)
		b.WriteString("---\n" + plainLink(i, next) + "---\n" + plainLink(next, i))
	}
	return map[string]string{"fleet.yaml": b.String()}
}
