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

{{- /* Merged, since a label that stands there twice makes no valid YAML: the chart's own win. */ -}}
{{- define "exporter.labels" -}}
{{- $fixed := dict "app.kubernetes.io/component" "exporter" "app.kubernetes.io/version" .Chart.AppVersion "app.kubernetes.io/managed-by" .Release.Service "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- merge $fixed (include "exporter.selector" . | fromYaml) (default dict .Values.labels) | toYaml -}}
{{- end -}}

{{- define "exporter.serviceAccountName" -}}
{{- with .Values.serviceAccount -}}
{{- default (.create | empty | ternary "" (include "exporter.fullname" $)) .name -}}
{{- end -}}
{{- end -}}

{{- define "exporter.scheme" -}}
{{- if (.Values.web).tls }}https{{ else }}http{{ end -}}
{{- end -}}

{{- /* Rights of the mounted secrets, in decimals, which YAML 1.1 and 1.2 read alike: 0440 where a group of the pod gets the files, else 0444. */ -}}
{{- define "exporter.secretMode" -}}
{{- if (.Values.podSecurityContext).fsGroup }}288{{ else }}292{{ end -}}
{{- end -}}

{{- /* The text of a file of the chart; an archive or a copy without it must not look like success. */ -}}
{{- define "exporter.file" -}}
{{- required (printf "%s is missing or empty in this copy of the chart: take all of deploy/helm, or the packaged chart" .path) (.files.Get .path) -}}
{{- end -}}

{{- define "exporter.secret" -}}
{{- if and (.Values.keys).existingSecret (.Values.keys).files -}}
{{- fail "keys: existingSecret and files exclude each other" -}}
{{- end -}}
{{- default (include "exporter.fullname" .) (.Values.keys).existingSecret -}}
{{- end -}}

{{- /* "true" where keys are mounted. Without them, an account whose key is such a file could never start. */ -}}
{{- define "exporter.hasKeys" -}}
{{- if or (.Values.keys).existingSecret (.Values.keys).files -}}
true
{{- else -}}
{{- range (.Values.config).accounts -}}
{{- if hasPrefix "/run/secrets/newrelic-apm-exporter/" (default "" .api_key_file) -}}
{{- fail (printf "keys.existingSecret is empty: name a secret in the namespace of the release that has the user key under the key %q, because config.accounts reads it from %s" (base .api_key_file) .api_key_file) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* How Prometheus speaks to the exporter. */ -}}
{{- define "exporter.client" -}}
{{- with (.Values.scrape).tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with (.Values.scrape).basicAuth }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* A file of rules or a dashboard whose links lead to the Grafana and to the runbooks of `links`. */ -}}
{{- define "exporter.linked" -}}
{{- $links := default dict .root.Values.links -}}
{{- $dashboards := printf "dashboard_url: %s/d/" (default "" $links.dashboardUrl | trimSuffix "/") -}}
{{- $ours := "https://github.com/newrelic-apm-exporter/newrelic-apm-exporter/blob/main/docs/alerts.md" -}}
{{- .text | replace "dashboard_url: /d/" $dashboards | replace $ours (default $ours $links.runbookUrl) -}}
{{- end -}}
