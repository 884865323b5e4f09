package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const (
	configFlag  = "config"
	perCommand  = "commands" // the key below which a command has values of its own
	largestFile = 1 << 20    // of a config file, in bytes
)

// What a config file is, by its first two keys.
const (
	ConfigVersion = "config.linkwright.dev/v1alpha1"
	ConfigKind    = "Config"
)

// AddConfig adds the flag that names the config file, to all commands.
func AddConfig(f *pflag.FlagSet) {
	f.String(configFlag, "", "file with values of flags (default: $XDG_CONFIG_HOME/linkwright/config.yaml or ~/.config/linkwright/config.yaml, if it exists)")
}

// FromConfig sets each flag that has no value yet, neither from the command line nor from the environment, from the config file. A key of
// the file is the name of a flag. A key that the command does not have is left alone if another command has it. The error has a line for
// each mistake of the file.
func FromConfig(c *cobra.Command) error {
	if !configurable(c) {
		return nil
	}
	name, raw, err := readConfig(c)
	if err != nil || name == "" {
		return err
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(raw)))
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF): // an empty file
		return nil
	case err != nil:
		return Usage("%s: %w", name, err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return Usage("%s: want one YAML document", name)
	}
	return settings{file: name, command: c, known: keysOf(c.Root())}.all(doc.Content[0])
}

// configurable says that a command has a flag that a config file can set. --color alone is no reason to read one: a command that only prints
// help works with a broken file, too.
func configurable(c *cobra.Command) (yes bool) {
	c.Flags().VisitAll(func(f *pflag.Flag) { yes = yes || f.Name != colourFlag && keyOf(f) != "" })
	return yes
}

// readConfig gives the config file; without a name there is none.
func readConfig(c *cobra.Command) (name string, raw []byte, err error) {
	if f := c.Flags().Lookup(configFlag); f != nil {
		name = f.Value.String()
	}
	if name == "" {
		name = defaultConfig()
		if _, err := os.Stat(name); name == "" || errors.Is(err, fs.ErrNotExist) {
			return "", nil, nil
		}
	}
	raw, err = readAtMost(name, largestFile+1)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("read --%s: %w", configFlag, err)
	case len(raw) > largestFile:
		return "", nil, Usage("%s: is larger than %d MiB", name, largestFile>>20)
	}
	return name, raw, nil
}

// defaultConfig is where the config file is if nothing names another one; empty: nowhere.
func defaultConfig() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "linkwright", "config.yaml")
}

// keyOf is a flag's key in the config file; empty: it has none. --management-kubeconfig of a command is --kubeconfig of the others.
func keyOf(f *pflag.Flag) string {
	if f.Name == configFlag || variable(f) == "" {
		return ""
	}
	return strings.TrimPrefix(f.Name, managementPrefix)
}

// keysOf are the keys that any command has.
func keysOf(root *cobra.Command) map[string]bool {
	out := map[string]bool{}
	for _, c := range append(root.Commands(), root) {
		c.Flags().VisitAll(func(f *pflag.Flag) { out[keyOf(f)] = true })
		if c != root {
			for key := range keysOf(c) {
				out[key] = true
			}
		}
	}
	delete(out, "")
	return out
}

// settings are those of a config file, for one command.
type settings struct {
	file    string
	command *cobra.Command
	known   map[string]bool // keys that any command has
}

// all sets the flags of the command from the whole file. What is said for the command alone goes before what is said for all.
func (s settings) all(root *yaml.Node) error {
	entries, err := s.entries(root)
	if err != nil {
		return err
	}
	errs := []error{s.isConfig(root, entries)}
	for _, e := range entries {
		if e.key.Value == perCommand {
			errs = append(errs, s.ofCommands(e.value))
		}
	}
	apart := []string{apiVersionKey, kindKey, perCommand}
	rest := slices.DeleteFunc(entries, func(e entry) bool { return slices.Contains(apart, e.key.Value) })
	return errors.Join(append(errs, s.apply(rest, true))...)
}

const (
	apiVersionKey = "apiVersion"
	kindKey       = "kind"
)

// isConfig refuses a file that is something else, or of a version that this program does not read.
func (s settings) isConfig(root *yaml.Node, entries []entry) error {
	var errs []error
	for _, want := range []struct{ key, value string }{{apiVersionKey, ConfigVersion}, {kindKey, ConfigKind}} {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.key.Value == want.key })
		switch {
		case i < 0:
			errs = append(errs, s.wrong(root, "%s is missing: add the line %s: %s", want.key, want.key, want.value))
		case entries[i].value.Value != want.value:
			errs = append(errs, s.wrong(entries[i].value, "%s %q: want %s", want.key, entries[i].value.Value, want.value))
		}
	}
	return errors.Join(errs...)
}

// ofCommands reads what is said for single commands, and sets what is said for this one.
func (s settings) ofCommands(at *yaml.Node) error {
	commands, err := s.entries(at)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range commands {
		errs = append(errs, s.ofCommand(c))
	}
	return errors.Join(errs...)
}

func (s settings) ofCommand(c entry) error {
	of, rest, err := s.command.Root().Find(strings.Fields(c.key.Value))
	if err != nil || len(rest) > 0 || of == s.command.Root() {
		return s.wrong(c.key, "there is no command %q%s", c.key.Value, DidYouMean(c.key.Value, Names(s.command.Root())))
	}
	entries, err := s.entries(c.value)
	if err != nil {
		return err
	}
	own := settings{file: s.file, command: of, known: map[string]bool{}}
	for key := range flagsOf(of) {
		own.known[key] = true
	}
	return own.apply(entries, of == s.command)
}

// flagsOf are the flags of a command that a config file can set, by their keys.
func flagsOf(c *cobra.Command) map[string]*pflag.Flag {
	out := map[string]*pflag.Flag{}
	for _, flags := range []*pflag.FlagSet{c.InheritedFlags(), c.Flags()} {
		flags.VisitAll(func(f *pflag.Flag) { out[keyOf(f)] = f })
	}
	delete(out, "")
	return out
}

// apply checks every key, and sets the flags that have no value yet.
func (s settings) apply(entries []entry, set bool) error {
	var errs []error
	flags := flagsOf(s.command)
	for _, e := range entries {
		f := flags[e.key.Value]
		err := s.check(e)
		if err == nil && set && f != nil && !f.Changed && !FromVariable(f) {
			err = s.set(f, e)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// set gives a flag the value of an entry.
func (s settings) set(f *pflag.Flag, e entry) error {
	values, err := s.values(f, e)
	if err != nil {
		return err
	}
	for _, v := range values {
		if err := setTo(f, v); err != nil {
			return s.wrong(e.value, "%s: %w", e.key.Value, err)
		}
	}
	annotate(f, given, s.file)
	return nil
}

// check refuses keys that no command has, or that decide something: a file that is left over would decide again.
func (s settings) check(e entry) error {
	key := e.key.Value
	switch {
	case slices.Contains(Decides(), key):
		return s.wrong(e.key, "%s cannot be set in a file, because it confirms or decides something once: give --%s on the command line", key, key)
	case !s.known[key]:
		return s.wrong(e.key, "unknown key %q: want the name of a flag%s", key, meantKey(key, slices.Sorted(maps.Keys(s.known))))
	}
	return nil
}

// meantKey is the end of an error about an unknown key. Kubernetes spells fields in camel case, and variables have underscores.
func meantKey(key string, known []string) string {
	letters := strings.NewReplacer("-", "", "_", "")
	for _, name := range known {
		if strings.EqualFold(letters.Replace(name), letters.Replace(key)) {
			return "; did you mean " + name + "?"
		}
	}
	return DidYouMean(key, known)
}

// values are the texts that a flag is set to, one after the other.
func (s settings) values(f *pflag.Flag, e entry) ([]string, error) {
	nodes, want := []*yaml.Node{e.value}, "one value"
	if _, repeatable := f.Value.(pflag.SliceValue); repeatable {
		want = "a value, or a list of values"
		if e.value.Kind == yaml.SequenceNode {
			nodes = e.value.Content
		}
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return nil, s.wrong(n, "%s: want %s", e.key.Value, want)
		}
		out[i] = n.Value
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(n.Value, "~/") {
			out[i] = filepath.Join(home, n.Value[2:])
		}
	}
	return out, nil
}

// entry is one key of a mapping, with its value.
type entry struct{ key, value *yaml.Node }

// entries are those of a mapping, each key once.
func (s settings) entries(at *yaml.Node) ([]entry, error) {
	if at.Kind != yaml.MappingNode {
		return nil, s.wrong(at, "want keys and values, such as repo: https://git.example.com/mesh/fleet.git")
	}
	var out []entry
	for i := 0; i+1 < len(at.Content); i += 2 {
		e := entry{at.Content[i], at.Content[i+1]}
		if slices.ContainsFunc(out, func(o entry) bool { return o.key.Value == e.key.Value }) {
			return nil, s.wrong(e.key, "%s is there twice", e.key.Value)
		}
		if e.key.Kind != yaml.ScalarNode {
			return nil, s.wrong(e.key, "want the name of a flag")
		}
		out = append(out, e)
	}
	return out, nil
}

func (s settings) wrong(at *yaml.Node, format string, a ...any) error {
	return Usage("%s:%d:%d: %w", s.file, at.Line, at.Column, fmt.Errorf(format, a...))
}
