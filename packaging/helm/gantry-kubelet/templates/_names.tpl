{{- /* Objects of the namespace have the name of the release. Those of the cluster have the namespace's too, since releases share them. */}}
{{- define "cluster.name" -}}
{{ printf "%s-%s" .Release.Namespace .Release.Name }}
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "claim" -}}
{{ .Values.state.claim | default .Release.Name }}
{{- end }}
