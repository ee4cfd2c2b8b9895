{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "environment" -}}
- name: GANTRY_DATA_DIR
  value: /var/lib/gantry-agent
- name: GANTRY_RPC_URL
  value: {{ .Values.rpcURL | quote }}
{{- with .Values.wsURL }}
- name: GANTRY_WS_URL
  value: {{ . | quote }}
{{- end }}
{{- if not .Values.gpus }}
- name: NVIDIA_VISIBLE_DEVICES
  value: all
{{- end }}
- name: NVIDIA_DRIVER_CAPABILITIES
  value: all
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* What both containers have. docs/operate/kubernetes-agents.md says of each right what it is for. */}}
{{- define "container" -}}
image: {{ .Values.image | quote }}
imagePullPolicy: {{ .Values.imagePullPolicy | quote }}
command: [gantry-agent]
env: {{- include "environment" . | nindent 2 }}
{{- with .Values.settingsSecret }}
envFrom:
  - secretRef:
      name: {{ . | quote }}
{{- end }}
securityContext:
  privileged: true
  runAsUser: 0
{{- $resources := deepCopy .Values.resources }}
{{- if .Values.gpus }}
{{- $resources = mergeOverwrite $resources (dict "limits" (dict "nvidia.com/gpu" (int .Values.gpus))) }}
{{- end }}
{{- with $resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "mounts" -}}
- name: data
  mountPath: /var/lib/gantry-agent
- name: dev
  mountPath: /dev
- name: cgroup
  mountPath: /sys/fs/cgroup
- name: tmp
  mountPath: /tmp
{{- range $i, $path := .Values.hostFiles }}
- name: file-{{ $i }}
  mountPath: {{ $path | quote }}
  readOnly: true
{{- end }}
{{- end }}
