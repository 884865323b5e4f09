package linkerd

import (
	"encoding/json"
	"slices"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// ConfigName is the name of Linkerd's own configuration, and ValuesKey its key with the values of the installation.
const (
	ConfigName = config
	ValuesKey  = "values"
)

// Config is Linkerd's own configuration in a cluster, as it is live.
type Config struct {
	Key       object.Key
	Values    string // the text of its key values
	Immutable bool
	Record    object.Record
}

// ConfigKey is the key of the ConfigMap linkerd-config.
func ConfigKey(l api.Linkerd) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: l.Namespace, Name: config}
}

// ConfigOf reads Linkerd's configuration. One that does not exist has a zero Record.
func ConfigOf(l api.Linkerd, observed object.Observation) Config {
	c := Config{Key: ConfigKey(l)}
	c.Record = observed.Record(c.Key)
	body, _ := observed.Body(c.Key)
	var cm corev1.ConfigMap
	if json.Unmarshal(body.Bytes(), &cm) == nil {
		c.Values, c.Immutable = cm.Data[ValuesKey], cm.Immutable != nil && *cm.Immutable
	}
	return c
}

// Writers are the field managers that own the values now: who wrote them last, unless that was linkwright.
func (c Config) Writers() []string {
	if c.Record.ValuesManagers == (unique.Handle[string]{}) {
		return nil
	}
	return strings.Split(c.Record.ValuesManagers.Value(), ",")
}

// EditedByHand reports whether somebody wrote the values last with kubectl edit or kubectl patch.
func (c Config) EditedByHand() bool {
	return slices.ContainsFunc(c.Writers(), func(m string) bool { return m == "kubectl-edit" || m == "kubectl-patch" })
}

// Part is the ConfigMap with nothing but the values.
func (c Config) Part(values string) object.Object {
	m := object.Members(`{"apiVersion":"v1","kind":"ConfigMap"`)
	m.Open("metadata")
	m.Text("name", c.Key.Name)
	m.Text("namespace", c.Key.Namespace)
	m.Close()
	m.Open("data")
	m.Text(ValuesKey, values)
	m.Close()
	m.Close()
	return object.Object{Key: c.Key, Version: "v1", Body: object.NewBody(m), Phase: object.PhaseExtras, Part: true}
}

// StandInConfig is a configuration for simulations: it has these fields of the values, as the installation has them, which is not known.
func StandInConfig(l api.Linkerd, paths []string) object.Body {
	tree := map[string]any{}
	for _, path := range paths {
		at, keys := tree, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			below, ok := at[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[key] = below
			}
			at = below
		}
		at[keys[len(keys)-1]] = asInstalled
		if path == "proxy.waitBeforeExitSeconds" { // any text would contradict a native sidecar
			at[keys[len(keys)-1]] = nil
		}
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return object.Body{} // strings encode
	}
	return Config{Key: ConfigKey(l)}.Part(string(text)).Body
}

// asInstalled is the value of a field that the installation sets, in simulations.
const asInstalled = "(as installed)"

// Flag returns the value of a flag of the containers of the destination controller's Deployment; false: none has it.
func Flag(deployment object.Body, name string) (string, bool) {
	var d appsv1.Deployment
	if json.Unmarshal(deployment.Bytes(), &d) != nil {
		return "", false
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, arg := range slices.Concat(c.Command, c.Args) {
			flag, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if ok && flag == name && strings.HasPrefix(arg, "-") {
				return value, true
			}
		}
	}
	return "", false
}
