{{- define "exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "exporter.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "exporter.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* What selects the pods; never changes in the life of a release. The first makes the job that the alerts look for. */ -}}
{{- define "exporter.selector" -}}
app.kubernetes.io/name: newrelic-apm-exporter
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "exporter.labels" -}}
{{ include "exporter.selector" . }}
app.kubernetes.io/component: exporter
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "exporter.secret" -}}
{{- if and .Values.keys.existingSecret .Values.keys.files -}}
{{- fail "keys: existingSecret and files exclude each other" -}}
{{- end -}}
{{- default (include "exporter.fullname" .) .Values.keys.existingSecret -}}
{{- end -}}

{{- define "exporter.hasKeys" -}}
{{- if or .Values.keys.existingSecret .Values.keys.files }}true{{ end -}}
{{- end -}}

{{- /* How Prometheus speaks to the exporter. */ -}}
{{- define "exporter.client" -}}
{{- with .Values.scrape.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.scrape.basicAuth }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
