{{/* The pod of the Deployment and of the CronJob, below spec of its template: list of root, command. */}}
{{- define "linkwright.pod" -}}
{{- $root := index . 0 }}
{{- $command := index . 1 }}
{{- $daemon := eq $command "run" }}
{{- $helm := include "linkwright.isHelm" $root }}
{{- with $root.Values -}}
serviceAccountName: {{ include "linkwright.account" $root }}
automountServiceAccountToken: true
{{- with .imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml .podSecurityContext | nindent 2 }}
containers:
- name: linkwright
  image: {{ include "linkwright.image" $root | quote }}{{ if not $helm }} # a placeholder: none is published yet{{ end }}
  {{- with .image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  args:
  {{- include "linkwright.args" (list $root $command) | nindent 2 }}
  {{- with .extraEnv }}
  env:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $daemon }}
  ports:
  - name: http
    containerPort: 8080
  livenessProbe:
    httpGet:
      path: /healthz
      port: http
    periodSeconds: 10
  readinessProbe:
    httpGet:
      path: /readyz
      port: http
    periodSeconds: 10
  {{- end }}
  resources: # memory: 50,000 links (--max-links) in one sync; a small fleet needs 256 MiB, and two builds of kustomize take 256 MiB each
    {{- toYaml .resources | nindent 4 }}
  securityContext:
    {{- toYaml .securityContext | nindent 4 }}
  volumeMounts:
  - name: cache
    mountPath: /var/cache/linkwright
  - name: tmp
    mountPath: /tmp
  {{- if .git.existingSecret }}
  - name: git
    mountPath: /etc/linkwright/git
    readOnly: true
  {{- end }}
  {{- if and $daemon .hook.existingSecret }}
  - name: hook
    mountPath: /etc/linkwright/hook
    readOnly: true
  {{- end }}
  {{- if or .config (not $helm) }}
  - name: config
    mountPath: /etc/linkwright/config
    readOnly: true
  {{- end }}
  {{- with .extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumes:
- name: cache # what was fetched; it may be lost at any time
  emptyDir:
    sizeLimit: {{ .cacheSizeLimit }}
- name: tmp # known_hosts, for a moment
  emptyDir:
    sizeLimit: 16Mi
{{- with .git.existingSecret }}
- name: git # credentials by their conventional keys (docs/how-to/git.md), for --git-credentials-dir=/etc/linkwright/git
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    {{- if not $helm }}
    optional: true
    {{- end }}
{{- end }}
{{- if and $daemon .hook.existingSecret }}
- name: hook # key secret: the file for --hook-secret-file (docs/how-to/git.md)
  secret:
    secretName: {{ .hook.existingSecret }}
    defaultMode: 0440
    {{- if not $helm }}
    optional: true
    {{- end }}
{{- end }}
{{- if or .config (not $helm) }}
- name: config # key config.yaml: the file for --config=/etc/linkwright/config/config.yaml (docs/reference/config.md)
  configMap:
    name: {{ include "linkwright.name" $root }}-config
    {{- if not $helm }}
    optional: true
    {{- end }}
{{- end }}
{{- with .extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
{{- $one := deepCopy . }}
{{- if not (hasKey . "labelSelector") }}
{{- $_ := set $one "labelSelector" (dict "matchLabels" (include "linkwright.selector" $root | fromYaml)) }}
{{- end }}
{{- list $one | toYaml | nindent 0 }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The arguments of the program: list of root, command. Overlays of kustomize add their own. */}}
{{- define "linkwright.args" -}}
{{- $root := index . 0 -}}
- {{ index . 1 }}
{{- $config := $root.Values.config | default dict }}
{{- range $key, $value := dict "git-cache" "/var/cache/linkwright" "log-format" "json" }}
{{- if not (hasKey $config $key) }}
- --{{ $key }}={{ $value }}
{{- end }}
{{- end }}
{{- if include "linkwright.isHelm" $root }}
{{- with $root.Values }}
- {{ printf "--repo=%s" .git.url | quote }}
{{- with .git.ref }}
- {{ printf "--ref=%s" . | quote }}
{{- end }}
{{- with .git.path }}
- {{ printf "--path=%s" . | quote }}
{{- end }}
{{- if .git.existingSecret }}
- --git-credentials-dir=/etc/linkwright/git
{{- end }}
{{- if and .hook.existingSecret (eq (index $ 1) "run") }}
- --hook-secret-file=/etc/linkwright/hook/secret
{{- end }}
- --namespace={{ $root.Release.Namespace }}
- --owner={{ .owner }}
{{- if .config }}
- --config=/etc/linkwright/config/config.yaml
{{- end }}
{{- range .extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The config file. Values are JSON, because YAML would have 1e+06 for a million. */}}
{{- define "linkwright.config" -}}
apiVersion: config.linkwright.dev/v1alpha1
kind: Config
{{- range $key, $value := .Values.config }}
{{ $key }}: {{ toJson $value }}
{{- end }}
{{- end }}
