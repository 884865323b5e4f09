package sync_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/values"
)

func linkerdConfig() object.Key { return linkerd.ConfigKey(api.Linkerd{Namespace: "linkerd"}) }

// value has somebody else set one field of Linkerd's values, or remove it.
func (s *scenario) value(words []string) {
	s.Helper()
	manager, path, to := words[1], words[2], strings.Join(words[3:], " ")
	s.bad(s.at(words[0]).Edit(manager, linkerdConfig(), func(content map[string]any) {
		text, _, _ := unstructured.NestedString(content, "data", "values")
		doc, err := values.Parse(text)
		s.bad(err)
		if to == "" {
			doc, err = doc.Remove(path)
		} else {
			doc, err = doc.Set(path, to)
		}
		s.bad(err)
		s.bad(unstructured.SetNestedField(content, doc.String(), "data", "values"))
	}))
}

// values compares fields of Linkerd's values, who owns them, and what the inventory says of them.
func (s *scenario) values(words []string) {
	s.Helper()
	at := s.at(words[0])
	var cm struct {
		Metadata struct {
			ManagedFields []struct {
				Manager  string         `json:"manager"`
				FieldsV1 map[string]any `json:"fieldsV1"`
			} `json:"managedFields"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
	}
	s.decode(at.Object(linkerdConfig()), &cm)
	var out strings.Builder
	doc, err := values.Parse(cm.Data["values"])
	s.bad(err)
	for _, path := range words[2:] {
		v, _ := doc.Value(path)
		fmt.Fprintf(&out, "%s: %s\n", path, v)
	}
	var owners []string
	for _, e := range cm.Metadata.ManagedFields {
		data, _ := e.FieldsV1["f:data"].(map[string]any)
		if _, owns := data["f:values"]; owns {
			owners = append(owners, e.Manager)
		}
	}
	slices.Sort(owners)
	fmt.Fprintf(&out, "owners: %s\n", strings.Join(owners, ", "))
	var base struct {
		Data map[string]string `json:"data"`
	}
	s.decode(at.Object(inventory.Key(object.DefaultOwner, object.End{})), &base)
	var recorded struct {
		Values json.RawMessage `json:"values"`
	}
	if text := base.Data["inventory.json"]; text != "" {
		s.bad(json.Unmarshal([]byte(text), &recorded))
	}
	fmt.Fprintf(&out, "recorded: %s\n", recorded.Values)
	s.compare(words[1], out.String())
}

func (s *scenario) decode(content map[string]any, into any) {
	s.Helper()
	raw, err := json.Marshal(content)
	s.bad(err)
	s.bad(json.Unmarshal(raw, into))
}
