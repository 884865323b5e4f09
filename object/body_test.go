package object

import "testing"

func TestBodyEqual(t *testing.T) {
	body := func(text string) Body { return NewBody([]byte(text)) }
	one, two := body(`{"a":1}`), body(`{"a":2}`)
	for _, tt := range []struct {
		a, b Body
		want bool
	}{
		{one, one, true},
		{one, body(`{"a":1}`), true},
		{one, two, false},
		{one, Body{}, false},
		{Body{}, body(""), true},
		{Body{}, Body{}, true},
	} {
		if got := tt.a.Equal(tt.b); got != tt.want || tt.b.Equal(tt.a) != tt.want {
			t.Errorf("Equal(%s, %s): got %v, want %v", tt.a.Bytes(), tt.b.Bytes(), got, tt.want)
		}
	}
	if !(Body{}).IsZero() || !body("").IsZero() || one.IsZero() {
		t.Error("IsZero: nothing is something, or something nothing")
	}
}
