package output

import "github.com/linkwright/linkwright/object"

// Gateway is the gateway of a link's target, as the mirrors in the source show it.
type Gateway struct {
	TypeMeta
	// Source is the cluster in which services are mirrored.
	Source string `json:"source"`
	// Target is the cluster whose gateway it is.
	Target string `json:"target"`
	// Alive is True if the address of a mirror is ready, False if mirrors have addresses and none is ready, and Unknown otherwise.
	Alive string `json:"alive" jsonschema:"enum=True,enum=False,enum=Unknown"`
	// Services is how many mirror Services the link has in the source. It is absent if they were not read.
	Services *int `json:"services,omitempty"`
	// ReadyServices is how many of them have a ready address. It is absent if they were not read.
	ReadyServices *int `json:"readyServices,omitempty"`
	// Reason says why the gateway is not alive, or why linkwright does not know.
	Reason *object.Reason `json:"reason,omitempty"`
}

// Ref is gateway/SOURCE/TARGET.
func (g Gateway) Ref() string { return "gateway/" + g.Source + "/" + g.Target }
