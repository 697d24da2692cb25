{{/*
The objects come from files/, which is manifests/ of the repository: kustomize and this chart install the same files.
A template reads a file, changes in its objects what a value decides, and writes them.
*/}}

{{/* nervex.read: the objects of a file, in the release's namespace, as JSON {"items": [...]}.
     Parameters: root, file (below files/). */}}
{{- define "nervex.read" -}}
{{- $root := .root -}}
{{- $text := $root.Files.Get (printf "files/%s" .file) -}}
{{- if not $text -}}
{{- fail (printf "files/%s is missing: files/manifests is a symbolic link in the repository. Use a packaged chart, or package one with `helm package charts/nervex`" .file) -}}
{{- end -}}
{{- $items := list -}}
{{- range regexSplit "(?m)^---$" $text -1 -}}
{{- $object := fromYaml (replace "nervex-system" $root.Release.Namespace .) -}}
{{- if hasKey $object "Error" }}{{ fail (printf "files/%s: %s" $.file $object.Error) }}{{ end -}}
{{- if $object }}{{ $items = append $items $object }}{{ end -}}
{{- end -}}
{{- dict "items" $items | toJson -}}
{{- end -}}

{{/* nervex.write: an object as YAML, with the labels and annotations that all objects get.
     Parameters: root, object. */}}
{{- define "nervex.write" -}}
{{- $root := .root -}}
{{- $metadata := .object.metadata -}}
{{- $chart := dict
      "app.kubernetes.io/version" $root.Chart.AppVersion
      "app.kubernetes.io/managed-by" $root.Release.Service
      "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_")) -}}
{{- $_ := set $metadata "labels" (mergeOverwrite (dict) ($metadata.labels | default dict) $chart $root.Values.commonLabels) -}}
{{- with mergeOverwrite (dict) ($metadata.annotations | default dict) $root.Values.commonAnnotations -}}
{{- $_ := set $metadata "annotations" . -}}
{{- end }}
---
{{ toYaml .object }}
{{- end -}}

{{/* nervex.file: a whole file that no value changes. Parameters: root, file. */}}
{{- define "nervex.file" -}}
{{- range (include "nervex.read" . | fromJson).items -}}
{{- include "nervex.write" (dict "root" $.root "object" .) -}}
{{- end -}}
{{- end -}}
