package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	// startTimeout is long for a start of 4 to 7 s: the machine may be busy
	// with a whole test suite. An emulated one takes longer still, and says so.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the wait for open requests. etcd loses nothing when
	// the server is cut short.
	stopTimeout = 15 * time.Second
)

// settings are the flags of the program; see main.go.
type settings struct {
	Dir, Kubeconfig, ReadyFile string
	Seeds                      []string
	Keep                       bool
	Port                       int
	StartTimeout               time.Duration
}

// serve runs the control plane until ctx ends.
func serve(ctx context.Context, o settings, stdin io.Reader, stdout io.Writer) (err error) {
	if err := refuseForeign(o.Kubeconfig); err != nil {
		return err
	}
	dir, err := claimDir(o.Dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // the logs may tell why
			err = errors.Join(fmt.Errorf("%w (left in place: %s)", err, dir.path), dir.release(true))
			return
		}
		err = dir.release(o.Keep && context.Cause(ctx) != errOrphaned)
	}()
	if o.ReadyFile != "" {
		_ = os.Remove(o.ReadyFile) // left by a server that was killed
	}

	apiLog, err := os.OpenFile(dir.file(apiLogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer apiLog.Close()
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(apiLog, nil)))

	begin := time.Now()
	etcd, etcdURL, err := startEtcd(ctx, dir.file(etcdDir), dir.file(etcdLogFile))
	if err != nil {
		return err
	}
	defer etcd.Close()

	token, err := dir.adminToken()
	if err != nil {
		return err
	}
	key, err := dir.serviceAccountKey()
	if err != nil {
		return err
	}
	listener, err := listen(o.Port, dir.lastPort())
	if err != nil {
		return err
	}
	server := apiServer{EtcdURL: etcdURL, Listener: listener, TLSDir: dir.file(tlsDir), Tokens: dir.file(tokensFile), SAKey: key}
	running, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		cancel(fmt.Errorf("kube-apiserver stopped: %w", server.run(running)))
	}()
	defer func() {
		cancel(nil)
		select {
		case <-stopped:
		case <-time.After(stopTimeout):
		}
	}()

	a := access{
		URL:        "https://" + listener.Addr().String(),
		CAFile:     filepath.Join(dir.file(tlsDir), "apiserver.crt"),
		Token:      token,
		Kubeconfig: dir.file(kubeconfigFile),
		PID:        os.Getpid(),
	}
	err = a.awaitAndPublish(running, o, begin, stdin, stdout)
	if err == nil {
		<-running.Done()
		err = context.Cause(running)
	}
	a.withdraw(o)
	if ctx.Err() != nil { // stopped as asked, whatever was under way
		return nil
	}
	return err
}

func (a access) awaitAndPublish(ctx context.Context, o settings, begin time.Time, stdin io.Reader, stdout io.Writer) error {
	config := a.restConfig()
	if err := waitReady(ctx, config, o.StartTimeout); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "ready in %s\n", time.Since(begin).Round(10*time.Millisecond))
	if err := seedFiles(ctx, config, o.Seeds, stdin, stdout); err != nil {
		return err
	}
	return a.publish(o, stdout)
}

// listen opens the port asked for; else the one of the last start, so that
// kubeconfigs written then stay good; else any.
func listen(asked, last int) (net.Listener, error) {
	on := func(port int) (net.Listener, error) {
		return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if asked != 0 {
		return on(asked)
	}
	if last != 0 {
		// Somebody's outgoing connection may hold it for a moment.
		for range 10 {
			if l, err := on(last); err == nil {
				return l, nil
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
	return on(0)
}

// waitReady returns once /readyz is good and the namespace "default", which
// the server makes a moment later, is there.
func waitReady(ctx context.Context, config *rest.Config, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not ready after %s", within))
	defer cancel()
	for {
		err := askReady(ctx, config)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func askReady(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil { // the certificate is not made yet
		return err
	}
	if err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}
