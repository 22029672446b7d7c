// Package pki makes certificate authorities for tests, and the kubeconfigs
// that a control plane under them would hold.
//
//	ca := pki.New(t, "kubernetes")
//	text := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// Authority is a certificate authority of a test's own.
type Authority struct {
	Cert *x509.Certificate
	PEM  []byte

	key *ecdsa.PrivateKey
}

// New makes an authority, good for ten years.
func New(t testing.TB, name string) Authority {
	t.Helper()
	a := Authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	a.Cert, a.PEM = sign(t, template, template, a.key, a.key)
	return a
}

// Issue makes a certificate for a client or a server, good for the year before
// an instant, and its key. The hosts are names and addresses.
func (a Authority) Issue(t testing.TB, name string, until time.Time, hosts ...string) (cert, key []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: []string{"system:masters"}},
		NotBefore: until.AddDate(-1, 0, 0), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	own := newKey(t)
	_, cert = sign(t, template, a.Cert, own, a.key)
	der, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatalf("pki: %v", err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// NextYear is when a certificate that Issue makes now would end.
func NextYear() time.Time { return time.Now().AddDate(1, 0, -1) }

// AdminConf is the kubeconfig that kubeadm would write for a server's URL,
// with a client certificate that ends at an instant.
func (a Authority) AdminConf(t testing.TB, server string, until time.Time) string {
	t.Helper()
	cert, key := a.Issue(t, "kubernetes-admin", until)
	return fmt.Sprintf(`apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: kubernetes-admin
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
kind: Config
users:
- name: kubernetes-admin
  user:
    client-certificate-data: %s
    client-key-data: %s
`, encoded(a.PEM), server, encoded(cert), encoded(key))
}

// Secrets are the values of a kubeconfig, written like AdminConf's, that nobody
// may see.
func Secrets(kubeconfig string) (found []string) {
	for line := range strings.Lines(kubeconfig) {
		for _, key := range []string{"client-key-data: ", "token: "} {
			if _, v, ok := strings.Cut(line, key); ok {
				found = append(found, strings.Trim(strings.TrimSpace(v), `"'`))
			}
		}
	}
	return found
}

// Leaked gives a piece of a secret that a text shows, "" where it shows none.
// Twelve characters are a piece, and the beginning that all PEM keys share is
// none.
func Leaked(text string, secrets []string) string {
	const shared, piece = 40, 12
	for _, s := range secrets {
		if len(s) < shared+piece && strings.Contains(text, s) {
			return s
		}
		for i := shared; i+piece <= len(s); i++ {
			if strings.Contains(text, s[i:i+piece]) {
				return s[i : i+piece]
			}
		}
	}
	return ""
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("pki: %v", err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, subject, issuer *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &subject.PublicKey, issuer)
	if err != nil {
		t.Fatalf("pki: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("pki: %v", err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
