// A webhook that decodes the object as a tree and checks it against an OpenAPI schema, with the validator that the API
// server has for custom resources. Benchmarks compare nervex-webhook with it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"os"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nervex.sensetime.com/bench/admission/serve"
)

var schemaFile = flag.String("schema", "", "the schema of a NerveXJob, without references")

func main() {
	flag.Parse()
	text, err := os.ReadFile(*schemaFile)
	if err != nil {
		log.Fatal(err)
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(text, schema); err != nil {
		log.Fatal(err)
	}
	validator := validate.NewSchemaValidator(schema, nil, "", strfmt.Default)
	handle := func(mutates bool) *webhook.Admission {
		return &webhook.Admission{Handler: admission.HandlerFunc(
			func(_ context.Context, request admission.Request) admission.Response {
				return review(request, validator, mutates)
			})}
	}
	serve.Hooks(handle(true), handle(false))
}

func review(request admission.Request, validator *validate.SchemaValidator, mutates bool) admission.Response {
	var job map[string]any
	if err := json.Unmarshal(request.Object.Raw, &job); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if result := validator.Validate(job); !result.IsValid() {
		return admission.Denied(result.AsError().Error())
	}
	if !mutates {
		return admission.Allowed("")
	}
	if inner, there := job["spec"].(map[string]any); there && inner["cleanPodPolicy"] == nil {
		inner["cleanPodPolicy"] = "Running"
	}
	changed, err := json.Marshal(job)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}
