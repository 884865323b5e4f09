package enroll

import (
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
)

// An API server that takes connections and never answers delays cluster add no longer than --cluster-timeout.
func TestSilentCluster(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	o, err := openAdmin(&rest.Config{Host: "http://" + silent.Addr().String()}, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = newCluster{admin: o}.identity(t.Context(), api.Linkerd{})
	if took := time.Since(began); err == nil || took > 10*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "Timeout: ") {
		t.Errorf("it says %q", err)
	}
}
