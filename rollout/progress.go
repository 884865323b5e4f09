package rollout

import (
	"encoding/json"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Progress says how far the rollout of a cluster is. It counts workloads that opt in and have meshed pods.
type Progress struct {
	// Inputs names the version of what the injector reads that the numbers are of.
	Inputs string `json:"inputs,omitempty"`
	Counts
	// Began is when linkwright first saw these inputs: the injector gets some time to read them, and a restart since then is one for them.
	Began time.Time `json:"began,omitzero"`
	// Running are workloads that linkwright restarted, and that were not ready since. If the configuration changes again, they restart again at once:
	// nothing else may make them ready.
	Running []Begun `json:"running,omitempty"`
	// Failed are workloads that are not ready after their restart, and Unchanged those that a restart did not change.
	Failed    []Ref `json:"failed,omitempty"`
	Unchanged []Ref `json:"unchanged,omitempty"`
	// Why says why nothing restarts although something is left; nil: something restarts, or nothing is left.
	Why *object.Reason `json:"why,omitempty"`
	// At is when this was true first.
	At time.Time `json:"at,omitzero"`
}

// Begun is a workload that linkwright restarted, what for, since when it does not proceed, and how far it is.
type Begun struct {
	Ref
	For   string    `json:"for"`
	Since time.Time `json:"since,omitzero"`
	Done  int       `json:"done,omitempty"`
}

// failed says which workloads failed.
func (p Progress) failed() string {
	return names(p.Failed) + " restarted, and is not ready in time"
}

// Counts are numbers of workloads. Total is the sum of the others.
type Counts struct {
	Total      int `json:"total"`
	Current    int `json:"current"`
	Restarting int `json:"restarting,omitempty"`
	Outdated   int `json:"outdated,omitempty"` // they are to restart
	Failing    int `json:"failing,omitempty"`  // they restarted, and failed, or still run another proxy
	Unknown    int `json:"unknown,omitempty"`  // nobody knows what they would get
}

// Complete reports whether nothing is left to do: no workload is to restart, restarts, or failed. Unknown is not complete.
func (p Progress) Complete() bool { return p.Why == nil && p.Total == p.Current }

// Compared reports whether the numbers are of the inputs that it names: the injector had time to read them, and the workloads were read.
func (p Progress) Compared() bool {
	return p.Inputs != "" && (p.Why == nil || p.Why.Code != reason.WaitingForInjector && p.Why.Code != reason.WorkloadsNotRead)
}

// Same reports whether both say the same, whenever that was.
func (p Progress) Same(o Progress) bool {
	p.At, o.At = time.Time{}, time.Time{}
	return string(p.Encode()) == string(o.Encode())
}

// Encode returns it in the form in which it is kept in a cluster.
func (p Progress) Encode() []byte {
	text, _ := json.Marshal(p) //nolint:errchkjson // it is made of texts and numbers
	return text
}

// Decode reads what Encode wrote; false: it is something else.
func Decode(text []byte) (p Progress, ok bool) {
	return p, len(text) > 0 && json.Unmarshal(text, &p) == nil
}
