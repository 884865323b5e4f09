package main

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// withoutKey are the flags of run that a config file cannot set: the one that names it, and those that run refuses, because they decide
// something.
func withoutKey() []string {
	return []string{"abandon-cluster", "accept-cluster", "allow-non-fast-forward", "config", "help"}
}

// Every flag of run but those of withoutKey has a key and a variable. A flag wins over its variable, which wins over the key of run, which wins
// over the key of all commands, which wins over the default.
func TestEveryFlagOfRunIsConfigurable(t *testing.T) {
	var names, without []string
	runOf(t).Flags().VisitAll(func(f *pflag.Flag) {
		if names = append(names, f.Name); len(sample(f)) == 0 {
			without = append(without, f.Name)
		}
	})
	if diff := cmp.Diff(withoutKey(), without); diff != "" {
		t.Errorf("flags without a key: -want +got\n%s", diff)
	}
	schema := configSchema(t)
	for _, name := range names {
		if slices.Contains(withoutKey(), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			v := sample(runOf(t).Flags().Lookup(name))
			all := map[string]any{"apiVersion": cli.ConfigVersion, "kind": cli.ConfigKind, name: scalar(t, v[0])}
			both := maps.Clone(all)
			both["commands"] = map[string]any{"run": map[string]any{name: scalar(t, v[1])}}
			for _, doc := range []map[string]any{all, both} {
				if err := schema.Validate(doc); err != nil {
					t.Errorf("the schema refuses %v: %v", doc, err)
				}
			}
			variable := "LINKWRIGHT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			for _, tt := range []struct {
				from     string
				doc      map[string]any
				variable string
				args     []string
				want     string
			}{
				{"the file", all, "", nil, v[0]},
				{"the file, for run", both, "", nil, v[1]},
				{"the environment", both, v[2], nil, v[2]},
				{"the command line", both, v[2], []string{"--" + name + "=" + v[3]}, v[3]},
			} {
				t.Setenv(variable, tt.variable)
				if got := preset(t, tt.doc, name, tt.args); got != tt.want {
					t.Errorf("from %s: %q, want %q", tt.from, got, tt.want)
				}
			}
		})
	}
}

// runOf is the command as the program has it, with the flags of all commands.
func runOf(t *testing.T) *cobra.Command {
	t.Helper()
	c, _, err := newRoot().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	c.InitDefaultHelpFlag()
	_ = c.InheritedFlags() // merges those of the root into the command's
	return c
}

// sample are four different values that a flag takes, as texts; none: it takes no value from elsewhere.
func sample(f *pflag.Flag) []string {
	if slices.Contains(withoutKey(), f.Name) {
		return nil
	}
	words := cli.Words(f)
	switch {
	case words != nil:
		return []string{words[1], words[0], words[1], words[0]}
	case f.Value.Type() == "bool":
		return []string{"true", "false", "true", "false"}
	case f.Value.Type() == "int":
		return []string{"11", "12", "13", "14"}
	case f.Value.Type() == "duration":
		return []string{"11s", "12s", "13s", "14s"}
	case f.Value.Type() == "limits":
		return []string{"maxClusters=1", "maxClusters=2", "maxClusters=3", "maxClusters=4"}
	}
	return []string{"a", "b", "c", "d"}
}

// scalar is a text as YAML reads it: true is no text.
func scalar(t *testing.T, text string) (out any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// preset is the value of a flag of run with a config file, and arguments.
func preset(t *testing.T, doc map[string]any, name string, args []string) string {
	t.Helper()
	raw, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, string(raw))
	c := runOf(t)
	if err := c.ParseFlags(append(args, "--config="+file)); err != nil {
		t.Fatal(err)
	}
	if err := cli.Preset(c); err != nil {
		t.Fatal(err)
	}
	f := c.Flags().Lookup(name)
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

func configSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := cli.ConfigSchema(newRoot())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("test:config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("test:config.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
