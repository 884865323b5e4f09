package main

import (
	"bytes"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/render/confine"
)

const (
	anOwner        = "owner-placeholder"
	aNamespace     = "namespace-placeholder"
	anAccount      = "account-placeholder"
	aMulticluster  = "multicluster-placeholder"
	policiesHeader = `{{- if and .Values.member.enabled .Values.member.confine }}
# Admission policies by which linkwright confines its own account: what RBAC cannot say (docs/explanation/threat-model.md). They are for
# requests of that account alone. They are made of package render/confine; linkwright rbac prints them for other names.
`
	helmLabels = `
    {{- if include "linkwright.isHelm" . }}
    {{- include "linkwright.labels" . | nindent 4 }}
    {{- end }}
`
)

// policiesTemplate is the template of the admission policies: those of package confine for an account of placeholders, with the chart's names in
// their place.
func policiesTemplate() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(policiesHeader)
	for i, o := range confine.Objects(confine.Account{Owner: anOwner, Namespace: aNamespace, Name: anAccount, Multicluster: aMulticluster}) {
		raw, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("marshal %s: %w", o.Metadata.Name, err)
		}
		text := string(raw)
		if strings.Contains(text, "{{") {
			return nil, fmt.Errorf("%s has {{, which begins an action of a template: escape it here", o.Metadata.Name)
		}
		if strings.HasSuffix(o.Metadata.Name, ".leases") { // the lease's name always ends with the owner, even if it is the default
			text = strings.ReplaceAll(text, `"linkwright-`+anOwner, `"linkwright-{{ .Values.owner }}`)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.WriteString(template(text))
	}
	out.WriteString("{{- end }}\n")
	return out.Bytes(), nil
}

func template(text string) string {
	const label = "app.kubernetes.io/part-of: linkwright-" + anOwner + "\n"
	text = strings.Replace(text, label, strings.TrimSuffix(label, "\n")+helmLabels, 1)
	return strings.NewReplacer(
		"linkwright-"+anOwner, `{{ include "linkwright.name" . }}`,
		"credentials-"+anOwner, `credentials{{ include "linkwright.suffix" . }}`,
		anOwner, "{{ .Values.owner }}",
		aNamespace, "{{ .Release.Namespace }}",
		anAccount, `{{ include "linkwright.account" . }}`,
		aMulticluster, "{{ .Values.member.multiclusterNamespace }}",
	).Replace(text)
}
