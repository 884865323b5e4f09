package api

// Limits are what a schema can say of a value, as far as it is simple: whatever they refuse, Check refuses, too, and with
// better words; Check refuses more.
type Limits struct {
	Pattern     string   // of a text; the syntax that JavaScript and Go have in common
	Keys        string   // the same of a map's keys
	MaxLength   int      // of a text; 0: any
	Not         string   // a value that Pattern matches, and that is not allowed nevertheless
	Least, Most *float64 // of a number
	NotEmpty    bool     // of a list
	OrEmpty     bool     // of a field with words: it may be empty, too, which is a value of its own
}

// Patterns of Kubernetes' names (apimachinery, pkg/util/validation).
const (
	label     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	label1035 = `[a-z]([-a-z0-9]*[a-z0-9])?`
	subdomain = label + `(\.` + label + `)*`
	qualified = `([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)`
	// labelKey is a name of at most 63 characters, with or without a prefix; labelValue may be empty.
	labelKey   = `^(` + subdomain + `/)?` + qualified + `$`
	labelValue = `^` + qualified + `?$`
	// duration is Go's, without a sign that would make it negative (time.ParseDuration).
	duration = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
)

// limits are known by the struct and the field, the path from a kind where the struct is of several, or the type;
// [] is the item of a list or the value of a map.
func limits() map[string]Limits {
	var (
		cluster = Limits{Pattern: `^` + label1035 + `$`, MaxLength: 52, Not: "federated"}
		name    = Limits{Pattern: `^` + subdomain + `$`, MaxLength: 253}
		ns      = Limits{Pattern: `^` + label + `$`, MaxLength: 63}
		port    = Limits{Least: new(1.0), Most: new(65535.0)}
		exclude = Limits{Pattern: `^((` + subdomain + `/)?` + qualified + `|` + subdomain + `/\*)$`}
		text    = Limits{Pattern: labelValue}
	)
	return map[string]Limits{
		"Quantity":                          {Pattern: `^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`, MaxLength: 64}, // resource.ParseQuantity
		"ClusterName":                       cluster,
		"Cluster.metadata.name":             cluster,
		"Meta.name":                         name,
		"Meta.labels":                       {Keys: labelKey},
		"Meta.labels[]":                     text,
		"Cluster.apiServer":                 {Pattern: `^[Hh][Tt][Tt][Pp][Ss]://[^/?#]`},
		"Cluster.overlay":                   {Pattern: `^[^/:\\]([^:\\]*[^/:\\])?$`},
		"SecretKey.name":                    name,
		"SecretKey.key":                     {Pattern: `^[-._a-zA-Z0-9]+$`, MaxLength: 253},
		"SecretRef.name":                    name,
		"Credentials.ttl":                   {Pattern: duration},
		"Linkerd.namespace":                 ns,
		"Linkerd.multiclusterNamespace":     ns,
		"Gateway.name":                      {Pattern: `^` + label1035 + `$`, MaxLength: 63},
		"Gateway.addresses[]":               {Pattern: `^[^ ,\t\n]+$`},
		"Gateway.port":                      port,
		"Gateway.identity":                  name,
		"Probe.path":                        {Pattern: `^/`},
		"Probe.port":                        port,
		"Probe.period":                      {Pattern: duration},
		"LinkSpec.excludedLabels[]":         exclude,
		"LinkSpec.excludedAnnotations[]":    exclude,
		"Controller.replicas":               {Least: new(1.0)},
		"Controller.image":                  {Pattern: `^[^ \t\n]*$`},
		"LabelSelector.matchLabels":         {Keys: labelKey},
		"LabelSelector.matchLabels[]":       text,
		"LabelSelectorRequirement.key":      {Pattern: labelKey},
		"LabelSelectorRequirement.values[]": text,
		"SyncPolicy.interval":               {Pattern: duration},
		"Percentage":                        {Pattern: `^(100|[1-9]?[0-9])%$`},
		"Prune.maxClusters":                 {Least: new(0.0)},
		"Prune.minAllowed":                  {Least: new(0.0)},
		"Prune.drainDeadline":               {Pattern: `^[+-]?0$|` + duration},
		"ProxyDuration":                     {Pattern: `^([0-9]+(ms|s|m|h|d))?$`},
		"ProxyQuantity":                     {Pattern: `^(([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*))?$`, MaxLength: 64},
		"PortList":                          {Pattern: `^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$`},
		"SubnetList":                        {Pattern: `^([0-9a-fA-F:.]+/[0-9]+(,[0-9a-fA-F:.]+/[0-9]+)*)?$`},
		"PullPolicy":                        {OrEmpty: true},
		"AccessLog":                         {OrEmpty: true},
		"LogHTTPHeaders":                    {OrEmpty: true},
		"ProxyInit.logFormat":               {OrEmpty: true}, // of other containers Linkerd's chart accepts no empty one
		"Proxy.logLevel":                    {Pattern: proxyLogLevel},
		"ProxyInit.logLevel":                {Pattern: initLogLevel},
		"NetworkValidator.logLevel":         {Pattern: validatorLevel},
		"NetworkValidator.connectAddr":      {Pattern: address},
		"NetworkValidator.listenAddr":       {Pattern: address},
		"ProxyImage.name":                   {Pattern: imageName},
		"ProxyImage.version":                {Pattern: imageVersion},
		"ProxyTracing.traceServiceName":     {Pattern: simpleName},
		"TraceCollector.endpoint":           {Pattern: address},
		"TraceIdentity.serviceAccountName":  {Pattern: simpleName},
		"TraceIdentity.namespace":           {Pattern: simpleName},
		"ProxyWorkers.maximumCPURatio":      {Least: new(0.0), Most: new(1.0)},
		"EnvVar.name":                       {Pattern: `^[-._a-zA-Z][-._a-zA-Z0-9]*$`},
		"Rollout.maxUnavailableWorkloads":   {Least: new(1.0)},
		"Rollout.perNamespace":              {Least: new(1.0)},
		"Ignore.fields":                     {NotEmpty: true},
		"Ignore.fields[]":                   {Pattern: `^spec(\.[A-Za-z0-9]+)+$`},
	}
}

// examples stand by the same keys.
func examples() map[string][]any {
	return map[string][]any{
		"Cluster.metadata.name":             {"east"},
		"Meta.labels":                       {map[string]any{"env": "prod"}},
		"Cluster.apiServer":                 {"https://east.example.com:6443"},
		"Cluster.overlay":                   {"overlays/east"},
		"SecretKey.name":                    {"east"},
		"KubeconfigFile.path":               {"/home/me/.kube/config"},
		"Gateway.addresses":                 {[]any{"192.0.2.1"}, []any{"gateway.east.example.com"}},
		"Gateway.port":                      {4143},
		"Gateway.identity":                  {"linkerd-gateway.linkerd-multicluster.serviceaccount.identity.linkerd.cluster.local"},
		"Probe.path":                        {"/ready"},
		"Probe.port":                        {4191},
		"Probe.period":                      {"3s"},
		"Link.metadata.name":                {"west-east"},
		"Link.source":                       {"west"},
		"Link.target":                       {"east"},
		"LinkSpec.selector":                 {selectorExample("mirror.linkerd.io/exported", "true")},
		"LinkSpec.remoteDiscoverySelector":  {selectorExample("mirror.linkerd.io/exported", "remote-discovery")},
		"LinkSpec.federatedServiceSelector": {selectorExample("mirror.linkerd.io/federated", "member")},
		"LinkSpec.excludedLabels":           {[]any{"example.com/team", "example.com/*"}},
		"LinkSpec.excludedAnnotations":      {[]any{"example.com/team", "example.com/*"}},
		"SecretRef.name":                    {"east-credentials"},
		"Controller.image":                  {"registry.example.com/linkerd/controller:edge-25.8.1"},
		"Controller.resources":              {map[string]any{"requests": map[string]any{"cpu": "50m", "memory": "64Mi"}}},
		"Mesh.metadata.name":                {"prod"},
		"Mesh.clusters":                     {selectorExample("env", "prod")},
		"Mesh.hubs":                         {selectorExample("role", "hub")},
		"Mesh.except":                       {[]any{map[string]any{"source": "west", "target": "east"}}},
		"ProxyConfig.metadata.name":         {"logs"},
		"ProxyConfig.clusters":              {selectorExample("env", "prod")},
		"ProxyConfig.priority":              {10},
		"Rollout.waves":                     {[]any{selectorExample("env", "staging"), map[string]any{}}},
		"Proxy.logLevel":                    {"warn,linkerd=info"},
		"ProxyImage.name":                   {"registry.example.com/linkerd/proxy"},
		"ProxyImage.version":                {"edge-26.6.3"},
		"ProxyDuration":                     {"5s", "1000ms"},
		"ProxyQuantity":                     {"100m", "64Mi"},
		"PortList":                          {"25,587,4000-4010"},
		"SubnetList":                        {"10.0.0.0/8"},
		"ProxyWorkers.maximumCPURatio":      {0.25},
		"TraceCollector.endpoint":           {"collector.tracing.svc.cluster.local:4317"},
		"EnvVar.name":                       {"SOME_VARIABLE"},
		"SyncPolicy.interval":               {"30s", "5m"},
		"SyncPolicy.schedule":               {"*/5 * * * *", "CRON_TZ=Europe/Berlin 30 6 * * 1-5"},
		"Prune.maxLinks":                    {"30%"},
		"Prune.maxMirrors":                  {"50%"},
		"Prune.drainDeadline":               {"90s", "0s"},
		"SyncPolicy.ignore":                 {[]any{map[string]any{"kind": "Deployment", "fields": []any{"spec.replicas"}}}},
		"SyncPolicy.replace":                {[]any{map[string]any{"kind": "Deployment"}}},
		"Ignore.fields":                     {[]any{"spec.replicas"}},
	}
}

func selectorExample(key, value string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{key: value}}
}
