{{/* What values.schema.json cannot say in a sentence that helps: values against each other. */}}
{{- define "countersign.validate" -}}
{{- if not .Values.issuer }}
{{- fail "issuer is required: the address that callers and verifiers use, such as https://decide.example.com." }}
{{- end }}
{{- if eq .Values.store "embedded" }}
{{- if gt (int .Values.replicas) 1 }}
{{- fail (printf "replicas must be 1 with store: embedded, but is %d: one server owns the database in its volume. For several servers set store: mongodb." (int .Values.replicas)) }}
{{- end }}
{{- if .Values.mongodb.existingSecret }}
{{- fail "mongodb.existingSecret is set, but store is embedded. Set store: mongodb, or leave the secret out." }}
{{- end }}
{{- else if not .Values.mongodb.existingSecret }}
{{- fail "mongodb.existingSecret is required with store: mongodb: the name of a Secret that holds the URL." }}
{{- end }}
{{- $secrets := dict "MONGODB_URL" "mongodb.existingSecret" "COUNTERSIGN_BOOTSTRAP_KEY" "bootstrapKey.existingSecret" "METRICS_TOKEN" "metricsToken.existingSecret" "OTEL_EXPORTER_OTLP_HEADERS" "otlpHeaders.existingSecret" }}
{{- $owned := dict "ISSUER" "issuer" "PORT" "service.port" "HOST" "service" "DATA_DIR" "persistence" }}
{{- range $name, $value := .Values.config }}
{{- if hasKey $secrets $name }}
{{- fail (printf "config.%s would show a secret to everyone who can read pods. Use %s." $name (get $secrets $name)) }}
{{- end }}
{{- if hasKey $owned $name }}
{{- fail (printf "config.%s is set by the chart. Use %s." $name (get $owned $name)) }}
{{- end }}
{{- end }}
{{- end }}
