package object

import (
	"encoding/json"
	"testing"
)

func TestText(t *testing.T) {
	const body = `{"a":{"b\"":["}"],"c":{"d":"<\"ü\\"}, "e" : "f" },"n":1}`
	tests := []struct {
		path []string
		want string
		ok   bool
	}{
		{[]string{"a", "c", "d"}, `<"ü\`, true},
		{[]string{"a", "e"}, "f", true},
		{[]string{"a", "f"}, "", false},
		{[]string{"n"}, "", false},
		{[]string{"a"}, "", false},
		{[]string{"n", "d"}, "", false},
	}
	if !json.Valid([]byte(body)) {
		t.Fatal(body)
	}
	for _, tt := range tests {
		if got, ok := NewBody([]byte(body)).Text(tt.path...); got != tt.want || ok != tt.ok {
			t.Errorf("Text(%v): got %q, %v, want %q, %v", tt.path, got, ok, tt.want, tt.ok)
		}
	}
	for end := range len(body) { // whatever is cut off, it ends
		NewBody([]byte(body[:end])).Text("a", "c", "d")
	}
}
