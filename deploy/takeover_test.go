package deploy_test

import "strings"

// adopt links with tokens that do not expire, rotates them, gives the links up, takes them over again, and then takes everything away,
// down to the record of clusters.
func (b *testEnv) adopt() {
	b.Helper()
	b.commit(clusters(b) + strings.Replace(links, "mode: Bound", "mode: LegacyToken", 1))
	b.run(0, "sync")
	b.run(0, "rotate", "--revoke")
	b.run(0, "sync")
	b.run(4, "release", "--all")
	b.run(0, "release", "--all", "--yes")
	b.run(4, "sync") // ObjectExists
	b.run(4, "adopt", "--all")
	b.run(0, "adopt", "--all", "--yes")
	b.run(0, "sync")
	b.run(4, "uninstall")
	b.run(0, "uninstall", "--yes")
	b.clean()
}
