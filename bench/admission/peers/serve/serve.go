// Package serve is what both webhooks have around them: flags, TLS, and the two paths that nervex-webhook has, too.
package serve

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

var (
	port    = flag.Int("port", 9443, "listens here, on 127.0.0.1")
	certDir = flag.String("cert-dir", "", "holds tls.crt and tls.key")
)

// Hooks serves both until SIGTERM. The flags are parsed by the caller.
func Hooks(mutate, validate *webhook.Admission) {
	ctrllog.SetLogger(logr.Discard())
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir})
	server.Register("/mutate-nervex-sensetime-com-v1alpha1-nervexjob", mutate)
	server.Register("/validate-nervex-sensetime-com-v1alpha1-nervexjob", validate)
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := server.Start(stop); err != nil {
		log.Fatal(err)
	}
}
