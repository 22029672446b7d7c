package cptest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nestor-tools/nestor/bench/faultproxy"
)

// Access is a way to the API: an address and an identity.
type Access struct {
	URL   string // https://127.0.0.1:port
	CA    []byte // PEM
	Token string // bearer token
}

// As is the same address with another identity, such as a token of Token.
func (a Access) As(token string) Access {
	a.Token = token
	return a
}

// Via is the same identity through a proxy.
func (a Access) Via(p *faultproxy.Proxy) Access {
	a.URL, a.CA = p.URL, p.CA
	return a
}

// WriteKubeconfig writes a kubeconfig of this access, removed with the test,
// and returns its name.
func (a Access) WriteKubeconfig(t testing.TB) string {
	t.Helper()
	type named map[string]any
	const name = "cptest"
	b, err := json.Marshal(named{ // JSON is YAML
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []named{{"name": name, "cluster": named{"server": a.URL, "certificate-authority-data": a.CA}}},
		"users":    []named{{"name": name, "user": named{"token": a.Token}}},
		"contexts": []named{{"name": name, "context": named{"cluster": name, "user": name}}},
	})
	if err != nil {
		t.Fatalf("cptest: %v", err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatalf("cptest: %v", err)
	}
	return file
}

// Do sends one request, with a JSON body unless body is "", and returns the
// status code and the body of the answer. No answer at all ends the test.
func (a Access) Do(t testing.TB, method, path, body string) (int, []byte) {
	t.Helper()
	code, answer, err := a.do(method, path, body)
	if err != nil {
		t.Fatalf("cptest: %v", err)
	}
	return code, answer
}

func (a Access) do(method, path, body string) (int, []byte, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequest(method, a.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	var answer bytes.Buffer
	_, err = io.Copy(&answer, response.Body)
	return response.StatusCode, answer.Bytes(), err
}

// Proxy puts a fault proxy in front of the server for the length of the test:
//
//	proxy := cluster.Proxy(t)
//	kubeconfig := cluster.Via(proxy).WriteKubeconfig(t)
//	proxy.Set(faultproxy.Fault{Kind: faultproxy.Forbidden, Resource: "nodes"})
func (a Access) Proxy(t testing.TB) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Start(a.URL, a.CA)
	if err != nil {
		t.Fatalf("cptest: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// ServiceAccountToken asks the server for a token of a ServiceAccount, good for
// an hour, as the kubelet does for a Pod.
func (a Access) ServiceAccountToken(t testing.TB, namespace, name string) string {
	t.Helper()
	path := fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", namespace, name)
	code, answer := a.Do(t, http.MethodPost, path, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600}}`)
	var request struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer, &request); err != nil || request.Status.Token == "" {
		t.Fatalf("cptest: no token for %s/%s: HTTP %d: %s", namespace, name, code, answer)
	}
	return request.Status.Token
}
