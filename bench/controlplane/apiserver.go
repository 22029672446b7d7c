package main

import (
	"context"
	"net"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

type apiServer struct {
	EtcdURL  string
	Listener net.Listener // closed by the server
	TLSDir   string       // apiserver.crt and .key, made there if absent
	Tokens   string       // file of static tokens
	SAKey    string       // file of the key for ServiceAccount tokens
}

// run serves until ctx ends or the server fails.
func (s apiServer) run(ctx context.Context) error {
	o := options.NewServerRunOptions()
	port := s.Listener.Addr().(*net.TCPAddr).Port
	o.Etcd.StorageConfig.Transport.ServerList = []string{s.EtcdURL}
	o.SecureServing.Listener = s.Listener
	o.SecureServing.BindPort = port
	o.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	o.SecureServing.ServerCert.CertDirectory = s.TLSDir
	o.GenericServerRunOptions.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	o.EndpointReconcilerType = "none" // no endpoints of our own for kubernetes.default
	o.ServiceClusterIPRanges = "10.0.0.0/16,fd00:10::/112"
	o.Authentication.TokenFile.TokenFile = s.Tokens
	o.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	o.Authentication.ServiceAccounts.KeyFiles = []string{s.SAKey}
	o.ServiceAccountSigningKeyFile = s.SAKey
	o.Authorization.Modes = []string{"RBAC"}
	// Any value above zero makes the server end open watches when it stops,
	// instead of waiting a minute for their clients.
	o.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = 5 * time.Second
	o.AllowPrivileged = true // as kubeadm sets it
	// Two admission plugins wait for controllers that do not run here: one
	// would refuse every Pod for want of the "default" ServiceAccount, the
	// other would leave every Node tainted not-ready for ever.
	o.Admission.GenericAdmission.DisablePlugins = []string{"ServiceAccount", "TaintNodesByCondition"}

	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := o.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	return app.Run(ctx, completed)
}
