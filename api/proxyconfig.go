package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProxyConfigDoc declares values of Linkerd's installation that the proxy injector uses, for clusters chosen by their labels.
// linkwright holds the declared fields in the ConfigMap linkerd-config of each of these clusters. It changes no other field.
// A value counts for pods that are created after the change.
type ProxyConfigDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta        `json:"metadata"`
	Spec     ProxyConfig `json:"spec"`
}

// ProxyConfig is what the proxy injector puts into new pods. Names and meanings are those of the values of Linkerd's chart
// linkerd-control-plane. A value that the control plane has as a flag, too, cannot be declared, or is set only while both agree.
type ProxyConfig struct {
	// Clusters chooses the clusters by their labels; {} is every cluster, as everywhere in Kubernetes.
	Clusters metav1.LabelSelector `json:"clusters"`
	// Priority decides if several declarations set the same field of a cluster: the highest wins. Two of the same priority are an error.
	Priority int32 `json:"priority,omitempty"`
	// Rollout has linkwright restart workloads whose proxies are outdated; without it, linkwright restarts none. Of several that select a cluster, that of the
	// highest priority counts as a whole.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Proxy has values of the proxy's container.
	Proxy *Proxy `json:"proxy,omitempty"`
	// ProxyInit has values of the init container that redirects a pod's traffic to its proxy.
	ProxyInit *ProxyInit `json:"proxyInit,omitempty"`
	// NetworkValidator has values of the init container that checks this redirection if Linkerd's CNI plugin made it.
	NetworkValidator *NetworkValidator `json:"networkValidator,omitempty"`
	// DebugContainer has values of the debug container, which a pod gets only if it asks for it.
	DebugContainer *DebugContainer `json:"debugContainer,omitempty"`
}

// Proxy has values of the proxy's container.
type Proxy struct {
	// Image of the proxy.
	Image *ProxyImage `json:"image,omitempty"`
	// Resources of the proxy's container.
	Resources *ProxyResources `json:"resources,omitempty"`
	// Cores is how many threads the proxy uses; 0: as many as there are cores. Newer releases use runtime.
	Cores *int64 `json:"cores,omitempty"`
	// Runtime of the proxy.
	Runtime *ProxyRuntime `json:"runtime,omitempty"`
	// LogLevel of the proxy, such as warn,linkerd=info.
	LogLevel *string `json:"logLevel,omitempty"`
	// LogFormat of the proxy.
	LogFormat *ProxyLogFormat `json:"logFormat,omitempty"`
	// LogHTTPHeaders sets whether the proxy may log the headers of requests; empty: it may not.
	LogHTTPHeaders *LogHTTPHeaders `json:"logHTTPHeaders,omitempty"`
	// AccessLog is the format of the access log; empty: there is none.
	AccessLog *AccessLog `json:"accessLog,omitempty"`
	// Await delays a pod's other containers until its proxy is ready.
	Await *bool `json:"await,omitempty"`
	// NativeSidecar runs the proxy as an init container that keeps running. It excludes waitBeforeExitSeconds.
	NativeSidecar *bool `json:"nativeSidecar,omitempty"`
	// WaitBeforeExitSeconds delays the end of the proxy of a pod that is deleted.
	WaitBeforeExitSeconds *int64 `json:"waitBeforeExitSeconds,omitempty"`
	// ShutdownGracePeriod is how long a proxy that ends waits for open connections.
	ShutdownGracePeriod *ProxyDuration `json:"shutdownGracePeriod,omitempty"`
	// InboundConnectTimeout limits the time to connect to the pod's own containers.
	InboundConnectTimeout *ProxyDuration `json:"inboundConnectTimeout,omitempty"`
	// OutboundConnectTimeout limits the time to connect to other pods.
	OutboundConnectTimeout *ProxyDuration `json:"outboundConnectTimeout,omitempty"`
	// InboundDiscoveryCacheUnusedTimeout is after how long an unused policy leaves the proxy's cache.
	InboundDiscoveryCacheUnusedTimeout *ProxyDuration `json:"inboundDiscoveryCacheUnusedTimeout,omitempty"`
	// OutboundDiscoveryCacheUnusedTimeout is after how long an unused destination leaves the proxy's cache.
	OutboundDiscoveryCacheUnusedTimeout *ProxyDuration `json:"outboundDiscoveryCacheUnusedTimeout,omitempty"`
	// DisableInboundProtocolDetectTimeout has the proxy wait for the first bytes of an inbound connection without a limit.
	DisableInboundProtocolDetectTimeout *bool `json:"disableInboundProtocolDetectTimeout,omitempty"`
	// DisableOutboundProtocolDetectTimeout does the same for outbound connections.
	DisableOutboundProtocolDetectTimeout *bool `json:"disableOutboundProtocolDetectTimeout,omitempty"`
	// OpaquePorts are ports and ranges whose protocol the proxy does not detect. Linkerd's destination controller has the same list
	// as a flag: linkwright holds the field only if both agree.
	OpaquePorts *PortList `json:"opaquePorts,omitempty"`
	// DefaultInboundPolicy counts for ports that no Server selects. Linkerd's policy controller has it as a flag, too: linkwright
	// holds the field only if both agree.
	DefaultInboundPolicy *InboundPolicy `json:"defaultInboundPolicy,omitempty"`
	// AdditionalEnv are environment variables of the proxy's container. The list is one field.
	AdditionalEnv []EnvVar `json:"additionalEnv,omitzero"`
	// ExperimentalEnv are environment variables whose meaning may change with each release. The list is one field.
	ExperimentalEnv []EnvVar `json:"experimentalEnv,omitzero"`
	// Control has values of the proxy's connections to the control plane.
	Control *ProxyControl `json:"control,omitempty"`
	// Metrics has values of the proxy's metrics.
	Metrics *ProxyMetrics `json:"metrics,omitempty"`
	// Tracing has values of the proxy's traces.
	Tracing *ProxyTracing `json:"tracing,omitempty"`
	// LivenessProbe of the proxy's container.
	LivenessProbe *ProxyProbe `json:"livenessProbe,omitempty"`
	// ReadinessProbe of the proxy's container.
	ReadinessProbe *ProxyProbe `json:"readinessProbe,omitempty"`
	// StartupProbe of the proxy's container, if it is a native sidecar.
	StartupProbe *ProxyStartupProbe `json:"startupProbe,omitempty"`
}

// ProxyImage is a container's image.
type ProxyImage struct {
	// Name of the image, without a tag.
	Name *string `json:"name,omitempty"`
	// Version is the tag, with or without a digest; empty: that of the control plane. It must not be empty in proxyInit.
	Version *string `json:"version,omitempty"`
	// PullPolicy of the image; empty: the control plane's.
	PullPolicy *PullPolicy `json:"pullPolicy,omitempty"`
}

// ProxyResources are the resources of a container.
type ProxyResources struct {
	// CPU that the container may use.
	CPU *ResourceAmount `json:"cpu,omitempty"`
	// Memory that the container may use.
	Memory *ResourceAmount `json:"memory,omitempty"`
	// EphemeralStorage that the container may use.
	EphemeralStorage *ResourceAmount `json:"ephemeral-storage,omitempty"`
}

// ResourceAmount is how much of a resource a container may use. An empty text sets neither.
type ResourceAmount struct {
	// Request is what the container is scheduled with.
	Request *ProxyQuantity `json:"request,omitempty"`
	// Limit is what the container may use at most.
	Limit *ProxyQuantity `json:"limit,omitempty"`
}

// ProxyRuntime sets how the proxy runs.
type ProxyRuntime struct {
	// Workers are the proxy's threads.
	Workers *ProxyWorkers `json:"workers,omitempty"`
}

// ProxyWorkers are the proxy's threads.
type ProxyWorkers struct {
	// Minimum number of threads.
	Minimum *int64 `json:"minimum,omitempty"`
	// MaximumCPURatio limits the threads to a share of the node's cores, above 0 and at most 1. It counts for proxies without a CPU limit.
	MaximumCPURatio *float64 `json:"maximumCPURatio,omitempty"`
}

// ProxyControl has values of the proxy's connections to the control plane.
type ProxyControl struct {
	// Streams to the control plane.
	Streams *ProxyStreams `json:"streams,omitempty"`
}

// ProxyStreams limits streams to the control plane.
type ProxyStreams struct {
	// InitialTimeout is how long the first answer may take.
	InitialTimeout *ProxyDuration `json:"initialTimeout,omitempty"`
	// IdleTimeout ends a stream on which nothing comes.
	IdleTimeout *ProxyDuration `json:"idleTimeout,omitempty"`
	// Lifetime ends any stream, so that the proxy connects anew.
	Lifetime *ProxyDuration `json:"lifetime,omitempty"`
}

// ProxyMetrics has values of the proxy's metrics.
type ProxyMetrics struct {
	// HostnameLabels adds the names of requested hosts to metrics.
	HostnameLabels *bool `json:"hostnameLabels,omitempty"`
}

// ProxyTracing has values of the proxy's traces.
type ProxyTracing struct {
	// Enabled has the proxy send traces.
	Enabled *bool `json:"enabled,omitempty"`
	// TraceServiceName is the name of the service in traces.
	TraceServiceName *string `json:"traceServiceName,omitempty"`
	// Collector is where traces go.
	Collector *TraceCollector `json:"collector,omitempty"`
}

// TraceCollector is where traces go.
type TraceCollector struct {
	// Endpoint is the collector's address, such as collector.tracing.svc.cluster.local:4317.
	Endpoint *string `json:"endpoint,omitempty"`
	// MeshIdentity is the identity of a meshed collector.
	MeshIdentity *TraceIdentity `json:"meshIdentity,omitempty"`
}

// TraceIdentity is the identity of a meshed collector.
type TraceIdentity struct {
	// ServiceAccountName of the collector.
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`
	// Namespace of the collector.
	Namespace *string `json:"namespace,omitempty"`
}

// ProxyProbe has times of a probe, in seconds.
type ProxyProbe struct {
	// InitialDelaySeconds is when the first probe begins.
	InitialDelaySeconds *int64 `json:"initialDelaySeconds,omitempty"`
	// TimeoutSeconds is how long an answer may take.
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty"`
}

// ProxyStartupProbe has times of the startup probe.
type ProxyStartupProbe struct {
	// InitialDelaySeconds is when the first probe begins.
	InitialDelaySeconds *int64 `json:"initialDelaySeconds,omitempty"`
	// PeriodSeconds is the time between two probes.
	PeriodSeconds *int64 `json:"periodSeconds,omitempty"`
	// FailureThreshold is how many probes may fail before the container starts anew.
	FailureThreshold *int64 `json:"failureThreshold,omitempty"`
}

// ProxyInit has values of the init container that redirects a pod's traffic.
type ProxyInit struct {
	// IgnoreInboundPorts are ports and ranges whose inbound traffic passes by the proxy.
	IgnoreInboundPorts *PortList `json:"ignoreInboundPorts,omitempty"`
	// IgnoreOutboundPorts are ports and ranges whose outbound traffic passes by the proxy.
	IgnoreOutboundPorts *PortList `json:"ignoreOutboundPorts,omitempty"`
	// KubeAPIServerPorts are the ports of API servers, which init containers may reach before the proxy runs.
	KubeAPIServerPorts *PortList `json:"kubeAPIServerPorts,omitempty"`
	// SkipSubnets are networks whose traffic passes by the proxy: CIDRs with commas between them.
	SkipSubnets *SubnetList `json:"skipSubnets,omitempty"`
	// IptablesMode is the variant of iptables.
	IptablesMode *IptablesMode `json:"iptablesMode,omitempty"`
	// LogLevel of the container.
	LogLevel *string `json:"logLevel,omitempty"`
	// LogFormat of the container; empty: plain.
	LogFormat *ProxyLogFormat `json:"logFormat,omitempty"`
	// CloseWaitTimeoutSecs sets nf_conntrack_tcp_timeout_close_wait; 0: it stays as it is. It needs runAsRoot.
	CloseWaitTimeoutSecs *int64 `json:"closeWaitTimeoutSecs,omitempty"`
	// Privileged runs the container as privileged.
	Privileged *bool `json:"privileged,omitempty"`
	// RunAsRoot runs the container as root.
	RunAsRoot *bool `json:"runAsRoot,omitempty"`
	// RunAsUser is the container's user, unless it runs as root.
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// RunAsGroup is the container's group, unless it runs as root.
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// Image of the container. Linkerd 2.20 no longer has it.
	Image *ProxyImage `json:"image,omitempty"`
}

// NetworkValidator has values of the init container that checks the redirection.
type NetworkValidator struct {
	// ConnectAddr is the address that the check connects to.
	ConnectAddr *string `json:"connectAddr,omitempty"`
	// ListenAddr is the address that the check listens at.
	ListenAddr *string `json:"listenAddr,omitempty"`
	// LogLevel of the container.
	LogLevel *string `json:"logLevel,omitempty"`
	// LogFormat of the container.
	LogFormat *ProxyLogFormat `json:"logFormat,omitempty"`
	// Timeout of the check.
	Timeout *ProxyDuration `json:"timeout,omitempty"`
	// EnableSecurityContext gives the container a security context.
	EnableSecurityContext *bool `json:"enableSecurityContext,omitempty"`
}

// DebugContainer has values of the debug container.
type DebugContainer struct {
	// Image of the container.
	Image *ProxyImage `json:"image,omitempty"`
}

// EnvVar is one environment variable.
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable.
	Value string `json:"value,omitempty"`
}

type (
	// ProxyDuration is a duration as the proxy reads it: a whole number with ms, s, m, h or d; empty: Linkerd's default.
	ProxyDuration string
	// ProxyQuantity is an amount of a resource, such as 100m or 64Mi; empty: none.
	ProxyQuantity string
	// PortList are ports and ranges with commas between them, such as 25,4000-4010.
	PortList string
	// SubnetList are CIDRs with commas between them.
	SubnetList string
	// PullPolicy is when an image is pulled.
	PullPolicy string
	// ProxyLogFormat is the format of a log.
	ProxyLogFormat string
	// LogHTTPHeaders sets whether headers of requests are logged.
	LogHTTPHeaders string
	// AccessLog is the format of an access log.
	AccessLog string
	// InboundPolicy is which clients may connect.
	InboundPolicy string
	// IptablesMode is a variant of iptables.
	IptablesMode string
)
