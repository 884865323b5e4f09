package complete

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/source"
)

// clusters are those that are declared, if the declarations are on this machine, else those of the management cluster's record.
func clusters(c *cobra.Command, args []string, _ string) (out []string) {
	if f := declared(c, args); f != nil {
		for _, cluster := range f.Clusters {
			out = append(out, string(cluster.Name))
		}
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(recorded(c).Clusters)) {
		out = append(out, string(name))
	}
	return out
}

// links are those that are declared, if the declarations are on this machine. The record has only clusters: then the source is completed
// first, and its target after that.
func links(c *cobra.Command, args []string, typed string) (out []string) {
	if f := declared(c, args); f != nil {
		for l := range f.Links() {
			out = append(out, string(l.Source.Name)+"/"+string(l.Target.Name))
		}
		return out
	}
	source, _, chosen := strings.Cut(typed, "/")
	for _, name := range clusters(c, args, "") {
		switch {
		case !chosen:
			out = append(out, name+"/")
		case name != source:
			out = append(out, source+"/"+name)
		}
	}
	return out
}

// suspended are the clusters and links that people suspended.
func suspended(c *cobra.Command, _ []string, _ string) (out []string) {
	for _, d := range recorded(c).Decisions {
		if d.Kind == inventory.Suspend && d.Unread == "" {
			out = append(out, d.Object())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// denied is the hash of the removal that is denied now.
func denied(c *cobra.Command, _ []string, _ string) []string {
	if d := recorded(c).Denied; d != nil {
		return []string{d.Hash}
	}
	return nil
}

// contexts are those of the kubeconfig beside the flag.
func contexts(c *cobra.Command, _ []string, _ string) []string {
	_, raw, err := cli.Kubeconfig(text(c, "kubeconfig"))
	if err != nil {
		return nil
	}
	config, err := clientcmd.Load(raw)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// declared reads the declarations on this machine that an argument or --repo names; nil: there are none, or they are wrong. Nothing is built.
func declared(c *cobra.Command, args []string) *fleet.Fleet {
	at := text(c, "repo")
	if at == "" && takesPath(c) && len(args) > 0 {
		at = args[0]
	}
	if at == "" {
		return nil
	}
	info, err := os.Stat(at)
	if err != nil {
		return nil
	}
	o := source.Options{Path: filepath.ToSlash(text(c, "path"))}
	read := source.Dir
	if !info.IsDir() {
		read = source.File
	}
	snap, err := read(at, o)
	if err != nil {
		return nil
	}
	f, _ := fleet.Load("", snap.Tree)
	return f
}

// takesPath says that the arguments of a command name declarations, by how it is typed.
func takesPath(c *cobra.Command) bool { return strings.Contains(c.Use, "PATH") }

// recorded is the record of the management cluster that the flags name; empty if it cannot be read in time. A credential plugin of the
// kubeconfig may take longer, and is not waited for.
func recorded(c *cobra.Command) inventory.Record {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	read := make(chan inventory.Record, 1)
	h := cli.ManagementFlags{
		Owner: text(c, "owner"), Namespace: text(c, "namespace"), Kubeconfig: management(c, "kubeconfig"), Context: management(c, "context"), Timeout: patience,
	}
	if h.Owner == "" {
		h.Owner = object.DefaultOwner
	}
	go func() {
		r, _ := recordOf(ctx, &h) // what cannot be read is empty
		read <- r
	}()
	select {
	case r := <-read:
		return r
	case <-ctx.Done():
		return inventory.Record{}
	}
}

func recordOf(ctx context.Context, h *cli.ManagementFlags) (inventory.Record, error) {
	if err := h.Check(); err != nil {
		return inventory.Record{}, err
	}
	at, err := h.OpenManagement(ctx)
	if err != nil {
		return inventory.Record{}, err
	}
	defer at.Close(ctx)
	return record.ManagementCluster{Cluster: at, Namespace: h.Namespace}.Record(ctx, h.Owner)
}

// management is the value of a flag about the management cluster, which has a prefix in commands in which the plain one is about another
// cluster.
func management(c *cobra.Command, name string) string {
	if c.Flags().Lookup("management-"+name) != nil {
		return text(c, "management-"+name)
	}
	return text(c, name)
}

// text is the value of a flag that has one; empty if the command has no such flag.
func text(c *cobra.Command, name string) string {
	f := c.Flags().Lookup(name)
	if f == nil || f.Value.Type() != "string" {
		return ""
	}
	return f.Value.String()
}

// schemas are the kinds of declarations, or with --answer those of answers.
func schemas(c *cobra.Command, args []string, typed string) []string {
	if answer, err := c.Flags().GetBool("answer"); err == nil && answer {
		return output.Kinds()
	}
	return append(kinds(c, args, typed), strings.ToLower(cli.ConfigKind))
}

// kinds are those of declarations.
func kinds(*cobra.Command, []string, string) []string {
	out := slices.Clone(api.Kinds())
	for i := range out {
		out[i] = strings.ToLower(out[i])
	}
	return out
}
