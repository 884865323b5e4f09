package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
)

// documents reads a file of the tree. What becomes a declaration must be no template; what an overlay adds may hold one, as alerts do.
func (g *validator) documents(file string, data []byte) ([]*yaml.Node, []api.Problem) {
	if p := fleet.Template(file, data); p != nil && !g.strict {
		return nil, []api.Problem{*p}
	}
	return documents(file, data)
}

// documents reads YAML as nodes and fails what can be much larger than it looks: more than the limits, anchors,
// aliases, merge keys. Positions are true for a whole file only.
func documents(file string, data []byte) ([]*yaml.Node, []api.Problem) {
	if n := countSigns(data); n > maxValues {
		return nil, []api.Problem{{
			Pos: api.Pos{File: file}, Message: fmt.Sprintf("the file has too many values: at most %d are allowed", maxValues),
			Hint: "split the file",
		}}
	}
	var out []*yaml.Node
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, []api.Problem{syntaxError(file, err)}
		}
		root := n.Content[0]
		if p := checkNode(file, root, 0); p != nil {
			return nil, []api.Problem{*p}
		}
		out = append(out, root)
	}
}

// countSigns counts bytes of which at least one is between any two values.
func countSigns(data []byte) (n int) {
	for _, b := range data {
		switch b {
		case '\n', ',', ':', '[', '{', '-':
			n++
		}
	}
	return n
}

// syntaxError takes the line out of the parser's message, which is "yaml: line 3: did not find expected key".
func syntaxError(file string, err error) api.Problem {
	at, message := api.Pos{File: file}, strings.TrimPrefix(err.Error(), "yaml: ")
	if number, rest, ok := strings.Cut(strings.TrimPrefix(message, "line "), ": "); ok {
		if n, err := strconv.Atoi(number); err == nil {
			at.Line, message = n, rest
		}
	}
	return api.Problem{Pos: at, Message: "invalid YAML: " + message}
}

// checkNode finds the first node that is not allowed.
func checkNode(file string, n *yaml.Node, depth int) *api.Problem {
	refuse := func(message, hint string) *api.Problem {
		return &api.Problem{Pos: api.Pos{File: file, Line: n.Line, Col: n.Column}, Message: message, Hint: hint}
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return refuse("aliases are not allowed: *"+n.Value, "write the value out")
	case n.Anchor != "":
		return refuse("anchors are not allowed: &"+n.Anchor, "write the value out where it is used")
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge":
		return refuse("merge keys are not allowed", "write the fields out")
	case n.Style&yaml.TaggedStyle != 0:
		return refuse("tags are not allowed: "+n.Tag, "write the value without it")
	case depth > maxYAMLDepth:
		return refuse(fmt.Sprintf("this is nested deeper than %d levels", maxYAMLDepth), "")
	}
	for _, c := range n.Content {
		if p := checkNode(file, c, depth+1); p != nil {
			return p
		}
	}
	return nil
}

// child is the value of a key, capitals aside, as kustomize reads it, or the item of an index, or nil.
func childOf(n *yaml.Node, key string) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if strings.EqualFold(n.Content[i].Value, key) {
				return n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

// duplicateKey finds a duplicate key of a mapping. At the top, keys that differ only in case are duplicates.
func duplicateKey(n *yaml.Node, fold func(string) string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := fold(n.Content[i].Value)
			if seen[key] {
				return n.Content[i]
			}
			seen[key] = true
		}
	}
	for _, c := range n.Content {
		if key := duplicateKey(c, strings.Clone); key != nil {
			return key
		}
	}
	return nil
}
