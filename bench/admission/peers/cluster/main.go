// What nervex-webhook asks of an API server, answered at once: the OpenAPI document, reviews of access, dry runs, nodes,
// an AggregatorConfig and a namespace. Other lists are empty and watches silent.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

var (
	port     = flag.Int("port", 6443, "listens here, on 127.0.0.1")
	certDir  = flag.String("cert-dir", "", "holds tls.crt and tls.key")
	document = flag.String("openapi", "", "what /openapi/v3/api/v1 is")
	nodes    = flag.Int("nodes", 0, "how many there are: one of four has GPUs")
)

const (
	index = `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=%X"}}}`
	list  = `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`
	may   = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{},"status":{"allowed":true}}`
	found = `{"kind":"AggregatorConfig","apiVersion":"nervex.sensetime.com/v1alpha1","metadata":{"name":"c"},"spec":` +
		`{"aggregator":{"template":{"spec":{"containers":[{"name":"c","image":"registry.example.com/aggregator:v1",` +
		`"resources":{"requests":{"cpu":"2","memory":"4Gi"}}}]}}}}}`
	space = `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q,"uid":"n","resourceVersion":"1","labels":{"team":"a"}}}`
	node  = `{"metadata":{"name":"node-%05d","uid":"u-%d","resourceVersion":"%d","labels":{"kubernetes.io/hostname":"node-%05d",` +
		`"topology.kubernetes.io/zone":"zone-%d","pool":"%s"}},"status":{"allocatable":{"cpu":"64","memory":"512Gi",` +
		`"pods":"110"%s},"conditions":[{"type":"Ready","status":"True"}]}}`
)

func nodeList() string {
	var items []string
	for i := range *nodes {
		pool, gpus := "cpu", ""
		if i%4 == 0 {
			pool, gpus = "gpu", `,"nvidia.com/gpu":"8"`
		}
		items = append(items, fmt.Sprintf(node, i, i, i+1, i, i%3, pool, gpus))
	}
	return `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + `]}`
}

var dryRuns, accessReviews, others atomic.Int64

func main() {
	flag.Parse()
	text, err := os.ReadFile(*document)
	if err != nil {
		log.Fatal(err)
	}
	indexText := fmt.Sprintf(index, sha256.Sum256(text))
	nodesText := nodeList()
	handler := http.HandlerFunc(func(reply http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		reply.Header().Set("Content-Type", "application/json")
		path := request.URL.Path
		switch {
		case path == "/counts":
			fmt.Fprintf(reply, `{"dry_runs":%d,"access_reviews":%d,"others":%d}`, dryRuns.Load(), accessReviews.Load(), others.Load())
		case path == "/openapi/v3":
			io.WriteString(reply, indexText)
		case strings.HasPrefix(path, "/openapi/v3/api/v1"):
			reply.Write(text)
		case strings.HasSuffix(path, "/subjectaccessreviews"):
			accessReviews.Add(1)
			reply.WriteHeader(http.StatusCreated)
			io.WriteString(reply, may)
		case strings.HasSuffix(path, "/podtemplates"):
			dryRuns.Add(1)
			reply.WriteHeader(http.StatusCreated)
			reply.Write(body)
		case request.URL.Query().Get("watch") != "":
			reply.WriteHeader(http.StatusOK)
			reply.(http.Flusher).Flush()
			<-request.Context().Done()
		case path == "/api/v1/nodes":
			io.WriteString(reply, nodesText)
		case strings.HasPrefix(path, "/api/v1/namespaces/"):
			others.Add(1)
			fmt.Fprintf(reply, space, filepath.Base(path))
		case strings.Contains(path, "/aggregatorconfigs/"):
			others.Add(1)
			io.WriteString(reply, found)
		default:
			others.Add(1)
			io.WriteString(reply, list)
		}
	})
	server := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", *port), Handler: handler}
	log.Fatal(server.ListenAndServeTLS(filepath.Join(*certDir, "tls.crt"), filepath.Join(*certDir, "tls.key")))
}
