package sync

import (
	"fmt"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
)

// What a Link tells is decoded once for each version of it: what was remembered of another version tells nothing.
func TestShownByFollowsLinks(t *testing.T) {
	link := func(credential string) pair.Side {
		body := fmt.Sprintf(`{"spec": {"clusterCredentialsSecret": "east", "excludedAnnotations": ["linkwright.dev/credential-%s"]}}`, credential)
		return pair.Side{Seen: object.NewObservation(nil, object.Layer{Group: "multicluster.linkerd.io", Kind: "Link", Items: []object.Item{
			{Namespace: "linkerd-multicluster", Name: "east", Body: object.NewBody([]byte(body))},
		}})}
	}
	first, known := shownBy(link("one"), nil)
	if again, _ := shownBy(link("one"), known); again != first {
		t.Error("the same side shows something else")
	}
	if next, _ := shownBy(link("two"), known); next == first {
		t.Error("a Link that tells of another credential shows the same")
	}
	if afresh, _ := shownBy(link("two"), nil); afresh == first {
		t.Error("without memory, too")
	}
}
