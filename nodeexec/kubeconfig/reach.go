package kubeconfig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Why an API that a kubeconfig should open does not.
var (
	// ErrNoAnswer: nobody answers at the address, or not as an API does.
	ErrNoAnswer = errors.New("the API does not answer")
	// ErrOtherCluster: what answers is not of this cluster.
	ErrOtherCluster = errors.New("it is another cluster")
	// ErrCredentials: the API refuses the user.
	ErrCredentials = errors.New("the API refuses the credentials")
)

// answerTimeout bounds each request: a server that drops packets must not hold
// up the next address.
const answerTimeout = 10 * time.Second

// Reach tries the servers in order and gives the access to the first whose
// certificate is of the cluster's authority and which takes the credentials.
// Those are sent only after the certificate was checked. Where the server's
// certificate does not hold the new address, the access gets the host of c's
// own server as tls-server-name.
//
// The errors of all servers are in the error, and match ErrNoAnswer,
// ErrOtherCluster or ErrCredentials, or that of ctx once it ended.
func Reach(ctx context.Context, c *Config, servers []string) (*Config, error) {
	var errs []error
	for _, server := range servers {
		at, err := reach(ctx, c, server)
		if err == nil {
			return at, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
		if ended(ctx) != nil {
			break
		}
	}
	if len(errs) == 1 {
		return nil, errs[0]
	}
	return nil, &reachError{errs}
}

// reachError puts several errors on one line.
type reachError struct{ errs []error }

func (e *reachError) Error() string {
	var texts []string
	for _, err := range e.errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (e *reachError) Unwrap() []error { return e.errs }

// Unverified is the access to a server that is not asked. It is checked
// against the host of c's own server wherever it is, since that name is in its
// certificate.
func (c *Config) Unverified(server string) *Config {
	name := c.certified()
	if u, err := url.Parse(server); err == nil && u.Hostname() == name {
		name = ""
	}
	return c.At(server, name)
}

// certified is a name that the server's certificate holds, since c works with
// it where it lies.
func (c *Config) certified() string {
	if c.tlsServerName != "" {
		return c.tlsServerName
	}
	u, err := url.Parse(c.server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func reach(ctx context.Context, c *Config, server string) (*Config, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no URL", ErrNoAnswer)
	}
	cert, err := serverCertificate(ctx, server, c.ca)
	if err != nil {
		return nil, err
	}
	at := c.At(server, "")
	if cert.VerifyHostname(u.Hostname()) != nil {
		at.tlsServerName = c.certified()
		if cert.VerifyHostname(at.tlsServerName) != nil {
			return nil, fmt.Errorf("%w under a name that can be checked: its certificate is for %s, not for %s or the kubeconfig's own %s", ErrNoAnswer, strings.Join(names(cert), ", "), u.Hostname(), at.tlsServerName)
		}
	}
	return at, ask(ctx, at.REST())
}

func names(cert *x509.Certificate) []string {
	list := append([]string{}, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		list = append(list, ip.String())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// serverCertificate is the certificate that the server shows, checked against
// the authority and not yet against a name. Nothing of the user is sent.
func serverCertificate(ctx context.Context, server string, ca []byte) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, // as client-go and kubectl do
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // the name alone: VerifyConnection checks the rest
			VerifyConnection: func(s tls.ConnectionState) error {
				between := x509.NewCertPool()
				for _, cert := range s.PeerCertificates[1:] {
					between.AddCert(cert)
				}
				_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
				return err
			},
		},
	}
	defer transport.CloseIdleConnections()
	response, err := get(ctx, &http.Client{Transport: transport}, strings.TrimSuffix(server, "/")+"/version")
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	if response.TLS == nil || len(response.TLS.PeerCertificates) == 0 {
		return nil, fmt.Errorf("%w: it showed no certificate", ErrNoAnswer)
	}
	return response.TLS.PeerCertificates[0], nil
}

// ask makes sure that the API knows the user. /version would not: it answers
// strangers.
func ask(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("%w: its credentials cannot be used", ErrInvalid) // the cause may quote them
	}
	defer client.CloseIdleConnections()
	response, err := get(ctx, client, strings.TrimSuffix(config.Host, "/")+"/api/v1/namespaces/kube-system")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var object struct{ Kind string }
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &object)
	}
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized:
		return ErrCredentials
	case err != nil || object.Kind != "Namespace" && object.Kind != "Status":
		return fmt.Errorf("%w: what it says is not of the Kubernetes API (HTTP %d)", ErrNoAnswer, code)
	case code == http.StatusOK, code == http.StatusForbidden, code == http.StatusNotFound: // the last two know the user too
		return nil
	default:
		return fmt.Errorf("%w: HTTP %d", ErrNoAnswer, code)
	}
}

func get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	// An API sends nobody elsewhere, and the credentials would go along.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%w: it is no URL", ErrNoAnswer)
	}
	response, err := client.Do(request)
	if err != nil {
		cancel()
		if end := ended(whole); end != nil {
			return nil, fmt.Errorf("given up: %w", end)
		}
		return nil, unanswered(err)
	}
	response.Body = &cancelling{response.Body, cancel}
	return response, nil
}

// ended is the error of a context that is over. A dial ends by the deadline
// itself, which may be a moment before the context knows.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// cancelling ends the request's context with its body.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// unanswered says why there was no answer.
func unanswered(err error) error {
	if stranger, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w that answers there: its certificate (%s) is not of the kubeconfig's authority", ErrOtherCluster, stranger.Cert.Subject)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		if err = u.Err; u.Timeout() { // the address is said already
			return fmt.Errorf("%w within %s", ErrNoAnswer, answerTimeout)
		}
	}
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}
