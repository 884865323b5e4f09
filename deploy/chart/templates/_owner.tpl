{{/*
It stops if another release in this cluster has the owner. Every release has a RoleBinding of its owner's name. helm template and --dry-run=client
read no cluster, and find none.
*/}}
{{- define "linkwright.checkOwner" -}}
{{- $name := include "linkwright.name" . }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "RoleBinding" "" "").items }}
{{- $labels := .metadata.labels | default dict }}
{{- $marks := .metadata.annotations | default dict }}
{{- $release := get $marks "meta.helm.sh/release-name" }}
{{- $namespace := get $marks "meta.helm.sh/release-namespace" }}
{{- $same := and (eq $release $.Release.Name) (eq $namespace $.Release.Namespace) }}
{{- if and (eq .metadata.name $name) (eq (get $labels "app.kubernetes.io/name") "linkwright") $release (not $same) }}
{{- fail (printf "the owner %q belongs to the release %q in the namespace %q, and two installations with one owner would undo each other's writes: change that release (helm upgrade %s --namespace %s), or uninstall it first, or set owner to another name. One release can have both management.enabled and member.enabled" $.Values.owner $release $namespace $release $namespace) }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Whether an object is this release's: list of root, apiVersion, kind, namespace, name. linkwright cluster add and kubectl make some of them, too,
perhaps before the release: what they made stays theirs.
*/}}
{{- define "linkwright.makes" -}}
{{- $release := (index . 0).Release }}
{{- $there := lookup (index . 1) (index . 2) (index . 3) (index . 4) }}
{{- $marks := (dig "metadata" "annotations" dict $there) | default dict }}
{{- $same := and (eq (get $marks "meta.helm.sh/release-name") $release.Name) (eq (get $marks "meta.helm.sh/release-namespace") $release.Namespace) }}
{{- if or (not $there) $same }}true{{ end }}
{{- end }}
