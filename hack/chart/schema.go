package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// property is a value of the chart, as values.schema.json describes it.
type property struct {
	name        string
	description string
	fallback    *yaml.Node // the default; nil: none is written
	properties  []property // in the order of the file
}

// parseSchema reads a schema. JSON is YAML, whose nodes keep the order of keys.
func parseSchema(raw []byte) (property, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return property{}, err
	}
	if len(doc.Content) != 1 {
		return property{}, errors.New("it is no object")
	}
	return parseProperty("", doc.Content[0])
}

func parseProperty(name string, n *yaml.Node) (p property, err error) {
	p.name = name
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		switch n.Content[i].Value {
		case "description":
			p.description = value.Value
		case "default":
			p.fallback = value
		case "properties":
			p.properties, err = parseProperties(name, value)
		}
		if err != nil {
			return p, err
		}
	}
	if name != "" && p.description == "" {
		return p, fmt.Errorf("line %d: %s has no description", n.Line, name)
	}
	return p, nil
}

func parseProperties(parent string, n *yaml.Node) (out []property, err error) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		p, err := parseProperty(strings.TrimPrefix(parent+"."+n.Content[i].Value, "."), n.Content[i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// values is values.yaml: every value with its default and what it is.
func (p property) values() []byte {
	var out bytes.Buffer
	out.WriteString("# Generated from values.schema.json (make generate).\n")
	for _, c := range p.properties {
		if c.properties != nil || c.fallback != nil {
			out.WriteString("\n")
		}
		c.write(&out, "")
	}
	return out.Bytes()
}

func (p property) write(out *bytes.Buffer, indent string) {
	key := p.name[strings.LastIndex(p.name, ".")+1:]
	switch {
	case p.fallback != nil:
		lines(out, indent+"#", p.description, 120)
		out.WriteString(indent + key + ":" + block(p.fallback, indent+"  ") + "\n")
	case p.properties != nil:
		lines(out, indent+"#", p.description, 120)
		out.WriteString(indent + key + ":\n")
		for _, c := range p.properties {
			c.write(out, indent+"  ")
		}
	}
}

// block is a default as YAML behind a key: a map on lines of its own, anything else on the line of the key.
func block(n *yaml.Node, indent string) string {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return " " + flow(n)
	}
	var out strings.Builder
	for i := 0; i+1 < len(n.Content); i += 2 {
		out.WriteString("\n" + indent + n.Content[i].Value + ":" + block(n.Content[i+1], indent+"  "))
	}
	return out.String()
}

// flow is a default on one line.
func flow(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var pairs []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			pairs = append(pairs, n.Content[i].Value+": "+flow(n.Content[i+1]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case yaml.SequenceNode:
		var items []string
		for _, c := range n.Content {
			items = append(items, flow(c))
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		plain := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
		if n.Tag == "!!str" && (plain.ShortTag() != n.Tag || strings.ContainsAny(n.Value, "*/ ")) {
			return `"` + n.Value + `"`
		}
		return n.Value
	}
}

const pageHead = `# Values of the Helm chart

[Install](../how-to/install.md#install-with-helm) shows how to use them. An unknown value is an error.
This page is generated from ` + "`deploy/chart/values.schema.json`" + `.

| value | default | meaning |
| --- | --- | --- |
`

// page is the page of all values.
func (p property) page() []byte {
	var out bytes.Buffer
	out.WriteString(pageHead)
	p.rows(&out)
	return out.Bytes()
}

func (p property) rows(out *bytes.Buffer) {
	for _, c := range p.properties {
		fallback := ""
		if c.fallback != nil {
			fallback = "`" + flow(c.fallback) + "`"
		}
		if c.properties != nil || c.fallback != nil {
			fmt.Fprintf(out, "| `%s` | %s | %s |\n", c.name, fallback, strings.ReplaceAll(c.description, "|", `\|`))
		}
		c.rows(out)
	}
}
