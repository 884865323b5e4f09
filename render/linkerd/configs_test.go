package linkerd

import (
	"fmt"
	"testing"
)

// What is remembered of one cluster's configuration is not taken for another's.
func TestConfigs(t *testing.T) {
	var said Configs
	text := func(i int) string { return fmt.Sprintf("clusterDomain: c%d\nlinkerdVersion: v%d\n", i, i) }
	for range 2 {
		for i := range 2 * maxConfigs {
			for range 2 {
				v, err := said.decode(text(i))
				if want := (values{ClusterDomain: fmt.Sprint("c", i), LinkerdVersion: fmt.Sprint("v", i)}); err != nil || v != want {
					t.Errorf("%q says %+v, %v, want %+v", text(i), v, err, want)
				}
			}
		}
	}
	if len(said.last) != maxConfigs {
		t.Errorf("%d are remembered, want %d", len(said.last), maxConfigs)
	}
	if _, ok := said.find(text(2*maxConfigs - 1)); !ok {
		t.Error("the last one is not remembered")
	}
	for range 2 {
		if v, err := said.decode("clusterDomain: [unclosed"); err == nil {
			t.Errorf("no YAML says %+v", v)
		}
	}
}
