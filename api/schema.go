package api

import (
	"bytes"
	"encoding/json"
	"strings"
)

// draft is the version of JSON Schema that editors understand best.
const draft = "http://json-schema.org/draft-07/schema#"

// schema is a JSON Schema, as far as declarations need one. A property may also be false: it is not allowed.
type schema struct {
	Schema               string         `json:"$schema,omitempty"`
	Title                string         `json:"title,omitempty"`
	Description          string         `json:"description,omitempty"`
	Type                 any            `json:"type,omitempty"`
	Const                any            `json:"const,omitempty"`
	Enum                 []string       `json:"enum,omitempty"`
	Default              any            `json:"default,omitempty"`
	Examples             []any          `json:"examples,omitempty"`
	Pattern              string         `json:"pattern,omitempty"`
	MinLength            int            `json:"minLength,omitempty"`
	MaxLength            int            `json:"maxLength,omitempty"`
	Minimum              *float64       `json:"minimum,omitempty"`
	Maximum              *float64       `json:"maximum,omitempty"`
	MinItems             int            `json:"minItems,omitempty"`
	MaxItems             *int           `json:"maxItems,omitempty"`
	Items                *schema        `json:"items,omitempty"`
	PropertyNames        *schema        `json:"propertyNames,omitempty"`
	AdditionalProperties any            `json:"additionalProperties,omitempty"`
	Properties           map[string]any `json:"properties,omitempty"`
	Required             []string       `json:"required,omitempty"`
	Not                  *schema        `json:"not,omitempty"`
	OneOf                []*schema      `json:"oneOf,omitempty"`
	AllOf                []*schema      `json:"allOf,omitempty"`
	If                   *schema        `json:"if,omitempty"`
	Then                 *schema        `json:"then,omitempty"`
	Else                 *schema        `json:"else,omitempty"`
}

// Schema is the JSON Schema of a kind, whose name may have any capitals, or of any declaration where the kind is empty.
// It refuses nothing that is accepted here, with one exception: a null, and an empty text where one may be left out,
// which are taken for absent here, and are more often forgotten than meant.
func Schema(kind string) ([]byte, error) {
	s := anySchema()
	if kind != "" {
		f, err := Declaration(kind)
		if err != nil {
			return nil, err
		}
		s = f.schema()
		s.Title = f.Name
	}
	s.Schema = draft
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return b.Bytes(), err
}

// anySchema selects by kind first, so that an editor's messages are about that kind alone.
func anySchema() *schema {
	out := &schema{
		Title: "Declaration", Description: "One declaration of linkwright: " + strings.Join(Kinds(), ", ") + ".",
		Type: Object, Required: []string{"apiVersion", "kind"},
		Properties: map[string]any{"apiVersion": &schema{Const: GroupVersion}, "kind": &schema{Enum: Kinds()}},
	}
	for _, k := range kinds() {
		out.AllOf = append(out.AllOf, &schema{If: isOneOf("kind", k.name), Then: k.field().schema()})
	}
	return out
}

// isOneOf is the schema of objects whose field has one of some values.
func isOneOf(name string, words ...string) *schema {
	return &schema{Properties: map[string]any{name: &schema{Enum: words}}, Required: []string{name}}
}

func (f Field) schema() *schema {
	out := &schema{Description: strings.Join(f.Paragraphs(), "\n\n"), Type: f.Type, Default: f.Default, Examples: f.Examples}
	f.Limits.limit(out)
	switch {
	case len(f.Words) == 1:
		out.Const = f.Words[0].Name
	default:
		for _, w := range f.Words {
			out.Enum = append(out.Enum, w.Name)
		}
		if f.Limits.OrEmpty {
			out.Enum = append(out.Enum, "")
		}
	}
	switch f.Type {
	case Object:
		f.addFields(out)
	case List:
		out.Type, out.Items = "array", f.Of.schema()
	case Map:
		out.Type, out.AdditionalProperties = "object", f.Of.schema()
	case String:
		if f.Required && f.Words == nil {
			out.MinLength = 1
		}
	case Quantity:
		out.Type = []string{"string", "number"}
	}
	return out
}

func (l Limits) limit(s *schema) {
	s.Pattern, s.MaxLength, s.Minimum, s.Maximum = l.Pattern, l.MaxLength, l.Least, l.Most
	if l.Not != "" {
		s.Not = &schema{Const: l.Not}
	}
	if l.Keys != "" {
		s.PropertyNames = &schema{Pattern: l.Keys}
	}
	if l.NotEmpty {
		s.MinItems = 1
	}
}

func (f Field) addFields(s *schema) {
	s.AdditionalProperties = false
	s.Properties = map[string]any{}
	for _, below := range f.Fields {
		s.Properties[below.Name] = below.schema()
		if below.Required {
			s.Required = append(s.Required, below.Name)
		}
	}
	f.addRules(s)
}

// addRules adds the rules about several fields of one object; Check has them all, with better messages.
func (f Field) addRules(s *schema) {
	switch f.of {
	case "Access":
		for _, way := range f.Fields {
			one := &schema{Required: []string{way.Name}}
			if way.Type == Boolean { // false is absent
				one.Properties = map[string]any{way.Name: &schema{Const: true}}
			}
			s.OneOf = append(s.OneOf, one)
		}
	case "Cluster":
		s.OneOf = []*schema{{Required: []string{"access"}}, {Required: []string{"sameAs"}}}
		s.If = &schema{Required: []string{"sameAs"}}
		s.Then = &schema{Properties: map[string]any{"apiServer": false, "linkerd": false, "overlay": false, "state": false, "suspend": false}}
	case "Credentials":
		s.If, s.Then, s.Else = isOneOf("mode", string(Existing)), absent("ttl"), absent("secretRef")
	case "Mesh":
		s.If, s.Then, s.Else = isOneOf("topology", string(HubAndSpoke)), &schema{Required: []string{"hubs"}}, absent("hubs")
	case "SyncPolicy":
		s.If, s.Then = &schema{Required: []string{"schedule"}}, absent("interval")
	case "LabelSelectorRequirement":
		s.If = isOneOf("operator", "In", "NotIn")
		s.Then = &schema{Properties: map[string]any{"values": &schema{MinItems: 1}}, Required: []string{"values"}}
		s.Else = &schema{Properties: map[string]any{"values": &schema{MaxItems: new(0)}}}
	}
}

// absent is the schema of objects without a field.
func absent(name string) *schema { return &schema{Properties: map[string]any{name: false}} }
