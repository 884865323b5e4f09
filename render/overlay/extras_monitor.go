package overlay

import (
	"fmt"
	"strings"
)

// checkMonitor: a scraper must not be told to carry a credential to an address that the committer chooses.
func checkMonitor(e extra, _ map[string]any) []string {
	list := map[string]string{"PodMonitor": "podMetricsEndpoints", "ServiceMonitor": "endpoints"}[e.id.key.Kind]
	if list == "" || e.id.key.Group != "monitoring.coreos.com" {
		return nil
	}
	spec, _ := e.content["spec"].(map[string]any)
	var out []string
	if spec["scrapeClass"] != nil {
		out = append(out, "spec.scrapeClass must not be set: it can bring a credential of the scraper's")
	}
	endpoints, _ := spec[list].([]any)
	for i, endpoint := range endpoints {
		at := fmt.Sprintf("spec.%s[%d]", list, i)
		if why := only(endpoint, endpointFields()...); why != "" {
			out = append(out, at+": "+why)
		}
		m, _ := endpoint.(map[string]any)
		if why := only(m["tlsConfig"], "serverName", "insecureSkipVerify", "minVersion", "maxVersion"); why != "" {
			out = append(out, at+".tlsConfig: "+why)
		}
		out = append(out, checkRelabelings(at+".relabelings", m["relabelings"])...)
		out = append(out, checkRelabelings(at+".metricRelabelings", m["metricRelabelings"])...)
	}
	return out
}

// checkRelabelings: what is scraped, and how, stands in labels that begin with __ (Prometheus, scrape/target.go); so none
// is written, nor one whose name is not known here.
func checkRelabelings(at string, v any) []string {
	rules, _ := v.([]any)
	var out []string
	for i, rule := range rules {
		m, _ := rule.(map[string]any)
		target, _ := m["targetLabel"].(string)
		action, _ := m["action"].(string)
		switch {
		case strings.HasPrefix(target, "__"), strings.Contains(target, "$"):
			out = append(out, fmt.Sprintf("%s[%d].targetLabel: %s is not allowed, only the name of a label, not beginning with __: others lead the scraper elsewhere", at, i, quote(target)))
		case strings.EqualFold(action, "labelmap"):
			out = append(out, fmt.Sprintf("%s[%d].action: %s is not allowed, it can write any label: name the labels one by one", at, i, action))
		}
	}
	return out
}

// endpointFields are those of a monitor's endpoint that hold neither a credential nor a proxy.
func endpointFields() []string {
	return []string{
		"port", "portNumber", "targetPort", "path", "scheme", "params", "interval", "scrapeTimeout", "honorLabels",
		"honorTimestamps", "trackTimestampsStaleness", "metricRelabelings", "relabelings", "followRedirects",
		"enableHttp2", "filterRunning", "tlsConfig",
	}
}
