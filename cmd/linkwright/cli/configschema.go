package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// property is the JSON Schema of one key of the config file, or of some.
type property struct {
	Ref                  string              `json:"$ref,omitempty"`
	AnyOf                []property          `json:"anyOf,omitempty"`
	Description          string              `json:"description,omitempty"`
	Type                 any                 `json:"type,omitempty"`
	Const                string              `json:"const,omitempty"`
	Enum                 []string            `json:"enum,omitempty"`
	Default              any                 `json:"default,omitempty"`
	Pattern              string              `json:"pattern,omitempty"`
	Items                *property           `json:"items,omitempty"`
	AdditionalProperties *bool               `json:"additionalProperties,omitempty"`
	Properties           map[string]property `json:"properties,omitempty"`
	Required             []string            `json:"required,omitempty"`
}

// ConfigSchema is the JSON Schema of the config file: of the keys for all commands below root, and of those of each command. A definition
// is of one key. If commands disagree about a key, the others have definitions of their own, such as output.status.
func ConfigSchema(root *cobra.Command) ([]byte, error) {
	definitions, all, each := map[string]property{}, map[string][]property{}, map[string]property{}
	for _, c := range leaves(root) {
		own := map[string]property{}
		for key, f := range flagsOf(c) {
			own[key] = define(definitions, c, key, ofFlag(f))
			if !slices.ContainsFunc(all[key], func(p property) bool { return p.Ref == own[key].Ref }) {
				all[key] = append(all[key], own[key])
			}
		}
		each[pathOf(c)] = mapping("Values of flags for "+pathOf(c)+" alone.", own)
	}
	properties := map[string]property{
		apiVersionKey: {Const: ConfigVersion}, kindKey: {Const: ConfigKind},
		perCommand: mapping("Values of flags for one command alone. They win over those for all commands.", each),
	}
	for key, of := range all {
		properties[key] = of[0]
		if len(of) > 1 {
			properties[key] = property{AnyOf: of}
		}
	}
	whole := mapping("Values of flags. The command line and the environment win over them.", properties)
	whole.Required = []string{apiVersionKey, kindKey}
	return encode(struct {
		Schema string `json:"$schema"`
		Title  string `json:"title"`
		property
		Definitions map[string]property `json:"definitions"`
	}{"http://json-schema.org/draft-07/schema#", ConfigKind, whole, definitions})
}

func mapping(description string, properties map[string]property) property {
	return property{Description: description, Type: "object", AdditionalProperties: new(false), Properties: properties}
}

// leaves are the commands below one that have no others below them, and take values of the config file.
func leaves(c *cobra.Command) (out []*cobra.Command) {
	for _, sub := range c.Commands() {
		out = append(out, leaves(sub)...)
	}
	if !c.HasSubCommands() && c.IsAvailableCommand() && configurable(c) {
		out = append(out, c)
	}
	return out
}

// pathOf is how a command is named in the config file: "cluster add".
func pathOf(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().CommandPath()+" ")
}

// define adds the schema of a command's key to the definitions, and refers to it.
func define(definitions map[string]property, c *cobra.Command, key string, p property) property {
	name := key
	if known, ok := definitions[name]; ok && !same(known, p) {
		name += "." + strings.ReplaceAll(pathOf(c), " ", "-")
	}
	definitions[name] = p
	return property{Ref: "#/definitions/" + name}
}

func same(a, b property) bool {
	x, errX := encode(a)
	y, errY := encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// ofFlag is the schema of a flag's values. A number may stand where a text is meant, as an id of a GitHub App.
func ofFlag(f *pflag.Flag) property {
	p := property{Description: f.Usage, Type: []string{"string", "number"}, Enum: Words(f)}
	if f.DefValue != "" && f.DefValue != "[]" {
		p.Default = f.DefValue
	}
	switch {
	case p.Enum != nil:
		p.Type = "string"
	case f.Value.Type() == "bool":
		p.Type, p.Default = "boolean", f.DefValue == "true"
	case f.Value.Type() == "int":
		n, err := strconv.Atoi(f.DefValue)
		if p.Type = "integer"; err == nil {
			p.Default = n
		}
	case f.Value.Type() == "duration":
		p.Type, p.Pattern = "string", `^0$|^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		p.Type, p.Default, p.Items = []string{"array", "string"}, nil, &property{Type: "string"}
		if words := list.GetSlice(); len(words) > 0 {
			p.Default = words
		}
	}
	return p
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the schema of the config file: %w", err)
	}
	return out.Bytes(), nil
}
