// pause holds the namespaces of a pod, as the kubelet's pods need a process that does: it takes in the processes that
// the pod's others leave behind, and ends when it is asked to. It is also the first process of the node itself.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for {
		// Also once at the start: a child may have ended before anybody listened.
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
		if got := <-signals; got != syscall.SIGCHLD {
			os.Exit(0)
		}
	}
}
