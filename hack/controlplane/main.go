// Command controlplane is a whole Kubernetes control plane in one binary, for
// tests and benchmarks: the sub-commands kube-apiserver,
// kube-controller-manager and kube-scheduler are the real ones, and serve
// starts one cluster of them. Linux only.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	os.Exit(run(name))
}

// run never builds two components in one process: their flags and feature
// gates are global to it.
func run(name string) int {
	if err := setClock(); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		return 2
	}
	switch name {
	case apiserverName:
		return component(apiserver.NewAPIServerCommand())
	case controllersName:
		return component(controllers.NewControllerManagerCommand())
	case schedulerName:
		return component(scheduler.NewSchedulerCommand())
	case "serve":
		return serve(os.Args[1:])
	}
	fmt.Fprintf(os.Stderr, "usage: controlplane serve --dir DIR --name NAME\n"+
		"       controlplane %s|%s|%s FLAGS\n", apiserverName, controllersName, schedulerName)
	return 2
}

func component(cmd *cobra.Command) int { return cli.Run(cmd) }
