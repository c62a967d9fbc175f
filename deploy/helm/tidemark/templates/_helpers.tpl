{{- define "tidemark.labels" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Its own name: Prometheus' job of the rules, and no pod of the service. */}}
{{- define "tidemark.collectorLabels" -}}
app.kubernetes.io/name: tidemark-collect
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The settings of kafka.security, kafka.sasl and kafka.tls as variables of `producers`. */}}
{{- define "tidemark.collectorVariables" -}}
{{- $kafka := dig "kafka" dict .Values.settings }}
{{- range $section := list "security" "sasl" "tls" }}
{{- range $name, $value := dig $section dict $kafka }}
{{- if not (kindIs "invalid" $value) }}
- name: PRODUCERS_KAFKA__{{ upper $section }}__{{ upper $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemark.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}

{{- define "tidemark.dnsPorts" -}}
{{- range .Values.networkPolicy.dnsPorts }}
- port: {{ . }}
  protocol: UDP
- port: {{ . }}
{{- end }}
{{- end }}

{{- define "tidemark.metricsPort" -}}
{{ dig "metrics" "port" 9477 .Values.settings }}
{{- end }}

{{/* With the folder of schemas, and Spark's properties for executors in pods; those of the values have precedence. */}}
{{- define "tidemark.settings" -}}
{{- $settings := deepCopy .Values.settings }}
{{- if .Values.schemasConfigMap }}
{{- $settings = mergeOverwrite (dict "schemas" (dict "folder" "/etc/tidemark-schemas")) $settings }}
{{- end }}
{{- if .Values.executors.enabled }}
{{- $conf := dict
  "spark.kubernetes.namespace" .Release.Namespace
  "spark.kubernetes.executor.podTemplateFile" "/etc/tidemark/executor.yaml"
  "spark.kubernetes.executor.disableConfigMap" "true"
  "spark.kubernetes.executor.limit.cores" (toString .Values.executors.cores)
  "spark.driver.bindAddress" "0.0.0.0"
  "spark.driver.port" "7078"
  "spark.blockManager.port" "7079"
  "spark.authenticate" "true"
  "spark.network.crypto.enabled" "true"
  "spark.executor.instances" (toString .Values.executors.instances)
  "spark.executor.cores" (toString .Values.executors.cores)
  "spark.executor.memory" .Values.executors.memory
  "spark.sql.shuffle.partitions" (toString (mul .Values.executors.instances .Values.executors.cores)) }}
{{- $spark := dict "master" "k8s://https://kubernetes.default.svc" "conf" $conf }}
{{- $settings = mergeOverwrite (dict "spark" $spark) $settings }}
{{- end }}
{{- toToml $settings }}
{{- end }}
