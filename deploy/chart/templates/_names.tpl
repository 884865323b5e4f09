{{/*
The bases of kustomize in deploy/ are made of these templates, with another Release.Service. There, images, names and args are left to overlays.
*/}}
{{- define "linkwright.isHelm" -}}
{{- if eq .Release.Service "Helm" }}true{{ end }}
{{- end }}

{{/* Names follow the owner, not the release: so are the lease and the record named, and so two releases of one owner cannot both be installed. */}}
{{- define "linkwright.name" -}}
linkwright{{ include "linkwright.suffix" . }}
{{- end }}

{{- define "linkwright.suffix" -}}
{{- if ne .Values.owner "linkwright" }}-{{ .Values.owner }}{{ end }}
{{- end }}

{{- define "linkwright.account" -}}
{{- .Values.serviceAccount.name | default (include "linkwright.name" .) }}
{{- end }}

{{- define "linkwright.selector" -}}
app.kubernetes.io/name: linkwright
{{- if include "linkwright.isHelm" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- end }}

{{- define "linkwright.labels" -}}
{{ include "linkwright.selector" . }}
{{- if include "linkwright.isHelm" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}
{{- end }}

{{/* Labels of objects that have none in the bases. */}}
{{- define "linkwright.helmLabels" -}}
{{- if include "linkwright.isHelm" . }}
  labels:
    {{- include "linkwright.labels" . | nindent 4 }}
{{- end }}
{{- end }}

{{- define "linkwright.image" -}}
{{- with .Values.image }}
{{- .repository }}
{{- with (.tag | default $.Chart.AppVersion) }}:{{ . }}{{ end }}
{{- with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* A binding of the account to the role of a name: list of root, name. */}}
{{- define "linkwright.bound" -}}
{{- $root := index . 0 -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 1 }}
  name: {{ index . 2 }}
subjects:
- kind: ServiceAccount
  name: {{ include "linkwright.account" $root }}
  namespace: {{ $root.Release.Namespace }}
{{- end }}
