package inventory

import "encoding/json"

// Value is one field of Linkerd's values that linkwright set in the cluster. Values are JSON, in the form of encoding/json.
type Value struct {
	Path   string // such as proxy.logLevel
	Set    string // what linkwright set last
	Before string // what is put back once nothing declares the field; empty: the field was not there
	Former string // what was there before Set is written, if that is linkwright's, or Before; empty: Set is written
}

// valueWire is the persisted form. Never change what its members mean.
type valueWire struct {
	Path   string          `json:"path"`
	Set    json.RawMessage `json:"set"`
	Before json.RawMessage `json:"before,omitempty"`
	Former json.RawMessage `json:"former,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	return json.Marshal(valueWire{v.Path, json.RawMessage(v.Set), json.RawMessage(v.Before), json.RawMessage(v.Former)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(text []byte) error {
	var w valueWire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*v = Value{w.Path, string(w.Set), string(w.Before), string(w.Former)}
	return nil
}
