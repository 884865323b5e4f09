package main

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// The components, named as their own programs are.
const (
	apiserverName   = "kube-apiserver"
	controllersName = "kube-controller-manager"
	schedulerName   = "kube-scheduler"
	kwokName        = "kwok"
)

// endpoints say where the API server finds etcd and where it listens.
type endpoints struct {
	etcd string
	port int
}

func apiserverArgs(opts options, files files, at endpoints) []string {
	return []string{
		"--etcd-servers=" + at.etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", at.port),
		"--permit-port-sharing=true", // the port is reserved by the supervisor
		"--tls-cert-file=" + files.cert,
		"--tls-private-key-file=" + files.key,
		"--token-auth-file=" + files.tokens,
		"--authorization-mode=RBAC",
		"--service-account-key-file=" + files.accountKey,
		"--service-account-signing-key-file=" + files.accountKey,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range=" + opts.serviceCIDR,
		"--endpoint-reconciler-type=none",
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1000",
		"--audit-policy-file=" + files.auditPolicy,
		"--audit-log-path=" + files.auditLog,
		"--audit-log-mode=blocking", // a request that was answered is in the log
		"--audit-log-maxsize=2000",  // MB: one file, never rotated
		// Nothing here takes the taint off again, and kwok is always ready.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--profiling=false",
	}
}

// Controllers that tests of multicluster links can notice. The rest would only
// take memory.
var (
	lightControllers = []string{
		"serviceaccount-token-controller",
		"root-ca-certificate-publisher-controller",
	}
	fullControllers = []string{
		"serviceaccount-controller",
		"deployment-controller",
		"replicaset-controller",
		"endpoints-controller",
		"endpointslice-controller",
		"endpointslice-mirroring-controller",
		"namespace-controller",
		"garbage-collector-controller",
		"disruption-controller",
		"statefulset-controller",
		"daemonset-controller",
		"disruption-controller",
	}
)

func controllersArgs(opts options, files files) []string {
	list := lightControllers
	if !opts.light {
		list = append(list[:len(list):len(list)], fullControllers...)
	}
	return []string{
		"--kubeconfig=" + files.internal,
		"--authentication-kubeconfig=" + files.internal,
		"--authorization-kubeconfig=" + files.internal,
		"--secure-port=0",
		"--service-account-private-key-file=" + files.accountKey,
		"--root-ca-file=" + files.cert,
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--controllers=" + strings.Join(list, ","),
	}
}

func schedulerArgs(files files) []string {
	return []string{
		"--kubeconfig=" + files.internal,
		"--authentication-kubeconfig=" + files.internal,
		"--authorization-kubeconfig=" + files.internal,
		"--secure-port=0",
		"--leader-elect=false",
	}
}

func kwokArgs(opts options, files files) []string {
	return []string{
		"--kubeconfig=" + files.internal,
		"--manage-all-nodes=true",
		"--config=" + files.stages,
		"--cidr=" + opts.podCIDR,
		"--node-ip=192.0.2.250",
	}
}

// reservePort gives a loopback port that stays ours until this process ends: a
// socket bound to it with SO_REUSEPORT that never listens. The kernel hands
// such a port to nobody who asks for any free one, and the API server shares it.
func reservePort() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*unix.SockaddrInet4).Port, nil
}
