package credential

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/state"
)

// The token that a source holds says how long it is valid, also once that is over; of two tokens, the one that expires first counts.
func TestHeld(t *testing.T) {
	first := Validity{Issued: start, Expires: start.Add(30 * day)}
	forever := object.NewSecret([]byte("e30.eyJzdWIiOiJhIn0.c2ln"))
	tests := []struct {
		name         string
		mirror, peer object.Secret
		want         Validity
	}{
		{"one", issued(1, start), object.Secret{}, first},
		{"the control plane holds an older one", issued(2, start.Add(day)), issued(1, start), first},
		{"the control plane holds a newer one", issued(1, start), issued(2, start.Add(day)), first},
		{"one that does not expire", forever, object.Secret{}, Validity{}},
		{"one that expires beside it", forever, issued(1, start), first},
		{"no JSON Web Token", object.NewSecret([]byte("opaque")), object.Secret{}, Validity{}},
		{"none", object.Secret{}, object.Secret{}, Validity{}},
	}
	for _, tt := range tests {
		v := rotating(t, tt.mirror, 1, 2)
		if !tt.peer.IsZero() {
			v.Link.Spec.RemoteDiscoverySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			v.put(t, Secrets(v.Link)[1], kubeconfig(string(tt.peer.Bytes())))
		}
		if got := v.held(); !got.Equal(tt.want) {
			t.Errorf("%s: held() = %v, want %v", tt.name, got, tt.want)
		}
	}
	v := rotating(t, issued(1, start), 1)
	if v.Source = (state.Cluster{}); !v.held().Equal(Validity{}) {
		t.Errorf("a source that was not read: %v", v.held())
	}
}

// A claim that says nothing is no moment in 1970.
func TestValidityOf(t *testing.T) {
	if got := validityOf(granted(1, time.Unix(0, 0), time.Hour)); !got.Equal(Validity{Expires: time.Unix(3600, 0)}) {
		t.Errorf("issued at 0: %v", got)
	}
}
