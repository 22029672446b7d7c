package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// access is how to reach the server as its administrator. Its JSON is the
// content of the ready file, and is kept in the directory for the next start.
type access struct {
	URL        string `json:"url"`
	CAFile     string `json:"ca_file"`
	Token      string `json:"token"` // user admin, group system:masters
	Kubeconfig string `json:"kubeconfig"`
	PID        int    `json:"pid"`
}

// kubeconfigHeader marks the kubeconfigs that this program may replace.
const kubeconfigHeader = "# Written by controlplane; replaced at each start.\n"

func (a access) restConfig() *rest.Config {
	return &rest.Config{Host: a.URL, BearerToken: a.Token, TLSClientConfig: rest.TLSClientConfig{CAFile: a.CAFile}}
}

func (a access) kubeconfig() ([]byte, error) {
	ca, err := os.ReadFile(a.CAFile)
	if err != nil {
		return nil, err
	}
	const name = "controlplane"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: a.URL, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: a.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	b, err := clientcmd.Write(*config)
	return append([]byte(kubeconfigHeader), b...), err
}

// publish writes the kubeconfigs, then, last of all, the ready file, and says
// what to do next.
func (a access) publish(o settings, stdout io.Writer) error {
	kubeconfig, err := a.kubeconfig()
	if err != nil {
		return err
	}
	j, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	show := a.Kubeconfig
	if o.Kubeconfig != "" {
		show = o.Kubeconfig
	}
	accessFile := filepath.Join(filepath.Dir(a.Kubeconfig), accessFile)
	for _, f := range []struct {
		name    string
		content []byte
	}{{accessFile, j}, {a.Kubeconfig, kubeconfig}, {o.Kubeconfig, kubeconfig}, {o.ReadyFile, j}} {
		if f.name == "" {
			continue
		}
		if err := replaceFile(f.name, f.content); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "serving %s until SIGTERM or Ctrl-C\nexport KUBECONFIG=%s\n", a.URL, show)
	return err
}

// withdraw removes what publish wrote outside the data directory.
func (a access) withdraw(o settings) {
	if o.ReadyFile != "" {
		_ = os.Remove(o.ReadyFile)
	}
	if o.Kubeconfig != "" && !o.Keep {
		_ = os.Remove(o.Kubeconfig)
	}
}

// refuseForeign is an error if file exists and this program did not write it.
func refuseForeign(file string) error {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !bytes.HasPrefix(b, []byte(kubeconfigHeader)) {
		return fmt.Errorf("%s exists and was not written by controlplane: name another file for --kubeconfig", file)
	}
	return err
}

// replaceFile writes a file, readable by its owner alone, so that it is never
// seen half written.
func replaceFile(name string, content []byte) error {
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
