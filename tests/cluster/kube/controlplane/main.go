// Command control-plane is the control plane of Kubernetes in one file: the programs that a cluster
// runs apart are chosen by the first word, and are those of Kubernetes and etcd unchanged.
//
// The modules of Kubernetes cannot be installed by name, as they refer to their parts by folder;
// go.mod refers to the published parts instead.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	programs := map[string]func([]string){
		"etcd":                    etcdmain.Main,
		"kube-apiserver":          kubernetes(apiserver.NewAPIServerCommand),
		"kube-controller-manager": kubernetes(controllers.NewControllerManagerCommand),
		"kube-scheduler":          kubernetes(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	}
	if len(os.Args) > 1 {
		if program, known := programs[os.Args[1]]; known {
			program(os.Args[1:])
			return
		}
	}
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: control-plane %s [OPTION]...\n", strings.Join(names, "|"))
	os.Exit(2)
}

func kubernetes(command func() *cobra.Command) func([]string) {
	return func(words []string) {
		// Whatever reads the command line later must not see our own first word.
		os.Args = words
		os.Exit(cli.Run(command()))
	}
}
