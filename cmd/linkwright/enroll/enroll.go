// Package enroll answers: how does a cluster come to be managed? Its commands print the rights that linkwright needs there, or give them
// and store the login; and they declare what is linked already.
package enroll

import "github.com/spf13/cobra"

// Commands are those that prepare clusters.
func Commands() []*cobra.Command {
	return []*cobra.Command{bootstrapCommand(), importCommand(), rbacCommand(), clusterCommand()}
}
