package kubeconfig

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// What is wrong with a kubeconfig.
var (
	// ErrInvalid: it is empty, cut short, no kubeconfig, or lacks a part.
	ErrInvalid = errors.New("not a usable kubeconfig")
	// ErrNotPortable: it works only where it lies, since it names files or
	// runs programs.
	ErrNotPortable = errors.New("the kubeconfig cannot be used elsewhere")
	// ErrExpired: its client certificate is not valid now.
	ErrExpired = errors.New("the client certificate is not valid now")
)

// Config is a kubeconfig of one cluster, one user and one context. It is
// never changed; printed, it shows no secret.
type Config struct {
	cluster, user, context string // their names
	namespace              string
	server, tlsServerName  string
	ca                     []byte // PEM
	cert, key              []byte // PEM
	token                  string
	expires                time.Time
}

// Parse reads a kubeconfig that must work by itself, and refuses any other:
// see the package's doc. Only the current context is read. Its errors match
// ErrInvalid, ErrNotPortable or ErrExpired, and show nothing of b.
func Parse(b []byte, now time.Time) (*Config, error) {
	c, err := parse(b)
	if err != nil {
		return nil, err
	}
	if err := c.check(now); err != nil {
		return nil, err
	}
	return c, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// check looks at what the fields hold.
func (c *Config) check(now time.Time) error {
	u, err := url.Parse(c.server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return invalid("its server is no https URL")
	}
	if len(c.ca) == 0 {
		return invalid("it has no certificate-authority-data, so that nothing tells its cluster from another")
	}
	if _, err := certificates(c.ca); err != nil {
		return invalid("its certificate-authority-data %v", err)
	}
	switch {
	case len(c.cert) == 0 && len(c.key) == 0 && c.token == "":
		return invalid("its user has neither a client certificate nor a token")
	case strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return invalid("its token holds what no token can")
	case len(c.cert) == 0 && len(c.key) == 0:
		return nil
	case len(c.cert) == 0:
		return invalid("its user has a key and no certificate")
	case len(c.key) == 0:
		return invalid("its user has a certificate and no key: it may be cut short")
	}
	certs, err := certificates(c.cert)
	if err != nil {
		return invalid("its client-certificate-data %v", err)
	}
	if _, err := tls.X509KeyPair(c.cert, c.key); err != nil { // the cause may quote
		return invalid("its client key is damaged or not that of its client certificate")
	}
	leaf := certs[0]
	c.expires = leaf.NotAfter
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%w: it expired on %s: renew it on the control plane", ErrExpired, leaf.NotAfter.UTC().Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%w: it is good from %s on: compare the clocks of the control plane and this machine", ErrExpired, leaf.NotBefore.UTC().Format(time.DateTime))
	}
	return nil
}

// certificates reads PEM text that holds certificates and nothing else.
func certificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for len(bytes.TrimSpace(text)) > 0 {
		block, rest := pem.Decode(text)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("is damaged or cut short: it holds something else than PEM certificates")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("holds a damaged certificate")
		}
		certs, text = append(certs, cert), rest
	}
	if len(certs) == 0 {
		return nil, errors.New("holds no certificate")
	}
	return certs, nil
}

// Server is the URL of the API.
func (c *Config) Server() string { return c.server }

// TLSServerName is the name that the server's certificate is checked against
// in place of the URL's host; "" for that.
func (c *Config) TLSServerName() string { return c.tlsServerName }

// CA is the certificate authority of the cluster, in PEM.
func (c *Config) CA() []byte { return slices.Clone(c.ca) }

// Expires is the end of the client certificate; zero for a token.
func (c *Config) Expires() time.Time { return c.expires }

// Context, Cluster and User are the names of the three entries.
func (c *Config) Context() string { return c.context }

// Cluster is the name of the cluster's entry.
func (c *Config) Cluster() string { return c.cluster }

// User is the name of the user's entry.
func (c *Config) User() string { return c.user }

// Named is the same access under a name of the caller's: cluster and context
// NAME, user NAME-admin.
func (c *Config) Named(name string) *Config {
	named := *c
	named.cluster, named.context, named.user = name, name, name+"-admin"
	return &named
}

// At is the same access to another address. tlsServerName is the name that
// the server's certificate holds, "" where it is the address itself.
func (c *Config) At(server, tlsServerName string) *Config {
	at := *c
	at.server, at.tlsServerName = server, tlsServerName
	return &at
}

// REST is the access for client-go.
func (c *Config) REST() *rest.Config {
	return &rest.Config{
		Host:        c.server,
		BearerToken: c.token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: c.tlsServerName,
			CAData:     slices.Clone(c.ca), CertData: slices.Clone(c.cert), KeyData: slices.Clone(c.key),
		},
		// A proxy of the environment would see where the cluster is; kubectl
		// uses it all the same, and so does this.
	}
}

// Format prints the names and the server, whatever the verb. It is the value's
// too: a Config that was copied shows no more.
func (c Config) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "kubeconfig{context: %s, server: %s}", c.context, c.server)
}

// Fingerprints are the SHA-256 sums of the public keys of PEM certificates,
// sorted, written as kubeadm's --discovery-token-ca-cert-hash is
// ("sha256:<hex>"). A certificate that is renewed with its key keeps it.
func Fingerprints(text []byte) ([]string, error) {
	certs, err := certificates(text)
	if err != nil {
		return nil, err
	}
	var sums []string
	for _, cert := range certs {
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		sums = append(sums, "sha256:"+hex.EncodeToString(sum[:]))
	}
	slices.Sort(sums)
	return slices.Compact(sums), nil
}
