package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// configSchema is the schema of the program's config file.
const configSchema = "docs/schema/config.json"

// ownKeys are the keys of the config file that the chart sets from other values, or that its objects rely on.
func ownKeys() []string {
	return []string{"config", "repo", "ref", "path", "owner", "namespace", "listen", "hook-listen"}
}

// withConfig returns values.schema.json with the keys that the value config may have: those of run and of sync, but for the chart's own.
func withConfig(values, config []byte) ([]byte, error) {
	keys, err := configKeys(config)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", configSchema, err)
	}
	const begin, end = "      \"properties\": {", "\n      }\n"
	head, rest, ok := bytes.Cut(values, []byte("    \"config\": {\n"))
	before, rest, okBegin := bytes.Cut(rest, []byte(begin))
	_, after, okEnd := bytes.Cut(rest, []byte(end))
	if !ok || !okBegin || !okEnd {
		return nil, errors.New("the value config has no properties on lines of their own")
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("      ", "  ")
	if err := enc.Encode(keys); err != nil {
		return nil, err
	}
	return slices.Concat(head, []byte("    \"config\": {\n"), before, []byte("      \"properties\": "), bytes.TrimSpace(text.Bytes()), []byte("\n"), after), nil
}

// configKeys are the schemas of the keys, without defaults, which the program knows.
func configKeys(schema []byte) (map[string]map[string]any, error) {
	var doc struct {
		Definitions map[string]map[string]any
		Properties  map[string]struct {
			Properties map[string]struct {
				Properties map[string]struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for _, command := range []string{"sync", "run"} {
		for key, of := range doc.Properties["commands"].Properties[command].Properties {
			if p := doc.Definitions[strings.TrimPrefix(of.Ref, "#/definitions/")]; p != nil && !slices.Contains(ownKeys(), key) {
				delete(p, "default")
				out[key] = p
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it has no keys of run and sync")
	}
	return out, nil
}
