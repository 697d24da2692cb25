{{/* nervex.image: the image of a container. Parameters: root, name (the container's section of the values). */}}
{{- define "nervex.image" -}}
{{- $image := (get .root.Values .name).image -}}
{{- $registry := $image.registry | default .root.Values.image.registry -}}
{{- $tag := $image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- if eq .name "scheduler" -}}
{{- /* Without what providers append to the version of their API servers: v1.33.5-gke.1080000. */ -}}
{{- $tag = $image.tag | default (regexFind "v[0-9]+[.][0-9]+[.][0-9]+" .root.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository }}
{{- with $image.digest }}@{{ . }}{{ else }}:{{ $tag }}{{ end -}}
{{- end -}}

{{/* nervex.args: the flags that values add to those of the manifest, as JSON {"items": [...]}.
     Parameters: root, name (the container's section of the values). */}}
{{- define "nervex.args" -}}
{{- $values := .root.Values -}}
{{- $args := list -}}
{{- if eq .name "webhook" -}}
{{- with $values.webhook -}}
{{- if ne .hostAccess "warn" }}{{ $args = append $args (printf "--host-access=%s" .hostAccess) }}{{ end -}}
{{- if .verifyClients }}{{ $args = append $args "--client-ca-file=/etc/nervex/tls/ca.crt" }}{{ end -}}
{{- end -}}
{{- else if eq .name "controller" -}}
{{- if ne $values.server.auth "none" }}{{ $args = append $args "--server-auth=token" }}{{ end -}}
{{- with $values.controller -}}
{{- if ne .services "shared" }}{{ $args = append $args (printf "--services=%s" .services) }}{{ end -}}
{{- if .directPlacement }}{{ $args = append $args "--direct-placement" }}{{ end -}}
{{- end -}}
{{- else if eq .name "server" -}}
{{- if ne $values.server.auth "none" }}{{ $args = append $args (printf "--auth=%s" $values.server.auth) }}{{ end -}}
{{- end -}}
{{- dict "items" (concat $args (get $values .name).extraArgs) | toJson -}}
{{- end -}}

{{/* nervex.podValues: `pods` with what differs for one program, as JSON. Each field is replaced as a whole; mergeOverwrite
     would keep a field that is set to an empty value. Parameters: root, name (the pod's section of the values). */}}
{{- define "nervex.podValues" -}}
{{- $pod := deepCopy .root.Values.pods -}}
{{- range $field, $value := (get .root.Values .name).pod }}{{ $_ := set $pod $field $value }}{{ end -}}
{{- toJson $pod -}}
{{- end -}}

{{/* nervex.pod: changes a pod template as the values say. Writes nothing.
     Parameters: root, template, name (the pod's section of the values). */}}
{{- define "nervex.pod" -}}
{{- $root := .root -}}
{{- $containers := dict "nervex-webhook" "webhook" "nervex-controller" "controller" "nervex-server" "server"
      "kube-scheduler" "scheduler" "nervex-extender" "extender" "nervexctl" "certs" -}}
{{- $pod := include "nervex.podValues" . | fromJson -}}
{{- $metadata := .template.metadata -}}
{{- $_ := set $metadata "labels" (mergeOverwrite (dict) $root.Values.commonLabels $pod.labels
      (dict "app.kubernetes.io/version" $root.Chart.AppVersion) $metadata.labels) -}}
{{- with $pod.annotations }}{{ $_ := set $metadata "annotations" . }}{{ end -}}
{{- $spec := .template.spec -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" -}}
{{- $_ := unset $spec $field -}}
{{- with get $pod $field }}{{ $_ := set $spec $field . }}{{ end -}}
{{- end -}}
{{- with $root.Values.image.pullSecrets }}{{ $_ := set $spec "imagePullSecrets" . }}{{ end -}}
{{- range $container := $spec.containers -}}
{{- $name := get $containers $container.name -}}
{{- $values := get $root.Values $name -}}
{{- $_ := set $container "image" (include "nervex.image" (dict "root" $root "name" $name)) -}}
{{- with $root.Values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- with (include "nervex.args" (dict "root" $root "name" $name) | fromJson).items -}}
{{- $_ := set $container "args" (concat ($container.args | default list) .) -}}
{{- end -}}
{{- with $values.extraEnv }}{{ $_ := set $container "env" (concat ($container.env | default list) .) }}{{ end -}}
{{- $_ := set $container "resources" $values.resources -}}
{{- end -}}
{{- end -}}

{{/* nervex.deployment: changes a Deployment as the values say. Writes nothing. Parameters: root, object, name. */}}
{{- define "nervex.deployment" -}}
{{- $spec := .object.spec -}}
{{- $pod := include "nervex.podValues" . | fromJson -}}
{{- include "nervex.pod" (dict "root" .root "template" $spec.template "name" .name) -}}
{{- $_ := set $spec "replicas" (get .root.Values .name).replicas -}}
{{- $_ := unset $spec.template.spec "priorityClassName" -}}
{{- with $pod.priorityClassName }}{{ $_ := set $spec.template.spec "priorityClassName" . }}{{ end -}}
{{- if kindIs "slice" $pod.topologySpreadConstraints -}}
{{- $constraints := list -}}
{{- range $pod.topologySpreadConstraints -}}
{{- $constraints = append $constraints (mergeOverwrite (dict "labelSelector" $spec.selector "matchLabelKeys" (list "pod-template-hash")) .) -}}
{{- end -}}
{{- $_ := set $spec.template.spec "topologySpreadConstraints" $constraints -}}
{{- end -}}
{{- end -}}
