package kubeconfig_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

// fakeAPI answers like an API to those whose client certificate it knows.
type fakeAPI struct {
	*httptest.Server
	port       string
	strangers  atomic.Int32 // requests without a client certificate
	authorised atomic.Int32
}

func serve(t testing.TB, a pki.Authority, until time.Time, status int, body string, hosts ...string) *fakeAPI {
	t.Helper()
	cert, key := a.Issue(t, "kube-apiserver", until, hosts...)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	clients := x509.NewCertPool()
	clients.AddCert(a.Cert)
	api := &fakeAPI{}
	api.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			api.strangers.Add(1)
			http.Error(w, `{"kind":"Status"}`, http.StatusUnauthorized)
			return
		}
		api.authorised.Add(1)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	api.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}
	api.Config.ErrorLog = quiet()
	api.StartTLS()
	t.Cleanup(api.Close)
	_, api.port, err = net.SplitHostPort(api.Listener.Addr().String())
	require.NoError(t, err)
	return api
}

const namespace = `{"kind":"Namespace"}`

func parsed(t testing.TB, conf string) *kubeconfig.Config {
	t.Helper()
	c, err := kubeconfig.Parse([]byte(conf), time.Now())
	require.NoError(t, err)
	return c
}

func TestReachSetsTheServerNameWhereItIsNeeded(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	for _, test := range []struct{ name, own, san, want string }{
		{"the address is in the certificate", "https://cp1.example.org:6443", "127.0.0.1", ""},
		{"the kubeconfig's own name is", "https://cp1.example.org:6443", "cp1.example.org", "cp1.example.org"},
		{"the kubeconfig's own address is", "https://192.0.2.1:6443", "192.0.2.1", "192.0.2.1"},
		{"the kubeconfig's own IPv6 is", "https://[2001:db8::1]:6443", "2001:db8::1", "2001:db8::1"},
		{"both are", "https://localhost:6443", "127.0.0.1 localhost", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			api := serve(t, ca, pki.NextYear(), 200, namespace, strings.Fields(test.san)...)
			at, err := kubeconfig.Reach(t.Context(), parsed(t, ca.AdminConf(t, test.own, pki.NextYear())), []string{api.URL})
			require.NoError(t, err)
			assert.Equal(t, api.URL, at.Server())
			assert.Equal(t, test.want, at.TLSServerName())
			assert.Equal(t, int32(1), api.authorised.Load())
			assert.Equal(t, int32(1), api.strangers.Load(), "the first request shows no credentials")
		})
	}
}

func TestReachRefuses(t *testing.T) {
	ca, other := pki.New(t, "kubernetes"), pki.New(t, "other")
	conf := ca.AdminConf(t, "https://cp1:6443", pki.NextYear())
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "https://" + refused.Addr().String()
	require.NoError(t, refused.Close())
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, test := range []struct {
		name, server string
		is           error
		says         string
	}{
		{"nobody", closed, kubeconfig.ErrNoAnswer, "connection refused"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), kubeconfig.ErrNoAnswer, "HTTP"},
		{"another cluster", serve(t, other, pki.NextYear(), 200, namespace, "127.0.0.1").URL, kubeconfig.ErrOtherCluster, "CN=kube-apiserver"},
		{"a server's certificate that has expired", serve(t, ca, time.Now().Add(-time.Hour), 200, namespace, "127.0.0.1").URL, kubeconfig.ErrNoAnswer, "expired"},
		{"a certificate for somebody else", serve(t, ca, pki.NextYear(), 200, namespace, "cp9", "192.0.2.9").URL, kubeconfig.ErrNoAnswer, "is for 192.0.2.9, cp9, not for 127.0.0.1 or the kubeconfig's own cp1"},
		{"refused credentials", serve(t, ca, pki.NextYear(), 401, `{"kind":"Status"}`, "cp1").URL, kubeconfig.ErrCredentials, "refuses the credentials"},
		{"not ready", serve(t, ca, pki.NextYear(), 500, `{"kind":"Status"}`, "cp1").URL, kubeconfig.ErrNoAnswer, "HTTP 500"},
		{"a web server", serve(t, ca, pki.NextYear(), 200, "<html>", "cp1").URL, kubeconfig.ErrNoAnswer, "not of the Kubernetes API"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := kubeconfig.Reach(t.Context(), parsed(t, conf), []string{test.server})
			require.ErrorIs(t, err, test.is)
			assert.ErrorContains(t, err, test.says)
			assert.ErrorContains(t, err, test.server+": ")
			assert.NotContains(t, err.Error(), "\n")
			assertNoSecret(t, err.Error(), pki.Secrets(conf))
		})
	}
}

// A server that is of the cluster's authority, and sends its clients elsewhere.
func TestReachFollowsNobody(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	ca := pki.New(t, "kubernetes")
	api := serve(t, ca, pki.NextYear(), 200, namespace, "127.0.0.1")
	api.Config.Handler = http.RedirectHandler(other.URL, http.StatusFound)
	_, err := kubeconfig.Reach(t.Context(), parsed(t, ca.AdminConf(t, "https://cp1:6443", pki.NextYear())), []string{api.URL + "/"})
	require.ErrorIs(t, err, kubeconfig.ErrNoAnswer)
	assert.Zero(t, elsewhere.Load())
}

func TestReachTakesRightsThatAreSmall(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	for _, status := range []int{403, 404} {
		api := serve(t, ca, pki.NextYear(), status, `{"kind":"Status"}`, "127.0.0.1")
		_, err := kubeconfig.Reach(t.Context(), parsed(t, ca.AdminConf(t, "https://cp1:6443", pki.NextYear())), []string{api.URL})
		assert.NoError(t, err)
	}
}

func TestReachTriesOneServerAfterTheOther(t *testing.T) {
	ca, other := pki.New(t, "kubernetes"), pki.New(t, "other")
	foreign := serve(t, other, pki.NextYear(), 200, namespace, "127.0.0.1")
	api := serve(t, ca, pki.NextYear(), 200, namespace, "127.0.0.1")
	c := parsed(t, ca.AdminConf(t, "https://cp1:6443", pki.NextYear()))
	at, err := kubeconfig.Reach(t.Context(), c, []string{foreign.URL, api.URL})
	require.NoError(t, err)
	assert.Equal(t, api.URL, at.Server())
	assert.Zero(t, foreign.authorised.Load())
	_, err = kubeconfig.Reach(t.Context(), c, []string{foreign.URL, "https://127.0.0.1:1"})
	require.ErrorIs(t, err, kubeconfig.ErrOtherCluster)
	require.ErrorIs(t, err, kubeconfig.ErrNoAnswer)
	assert.ErrorContains(t, err, "; ")
}

func TestReachEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = kubeconfig.Reach(ctx, parsed(t, pki.New(t, "x").AdminConf(t, "https://cp1", pki.NextYear())), []string{"https://" + silent.Addr().String(), "https://127.0.0.1:1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, kubeconfig.ErrNoAnswer)
	assert.Less(t, time.Since(began), 5*time.Second)
}

// late is a context whose deadline is over before it knows, as happens for a
// moment on a busy machine.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestReachEndsWithItsDeadline(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://cp1", pki.NextYear()))
	_, err := kubeconfig.Reach(late{t.Context()}, c, []string{"https://127.0.0.1:1", "https://127.0.0.1:2"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, kubeconfig.ErrNoAnswer)
	assert.NotContains(t, err.Error(), ":2", "the next is not tried")
}

func TestUnverifiedIsSafeWhereverItGoes(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	c := parsed(t, ca.AdminConf(t, "https://cp1.example.org:6443", pki.NextYear()))
	assert.Equal(t, "cp1.example.org", c.Unverified("https://127.0.0.1:6443").TLSServerName())
	assert.Empty(t, c.Unverified("https://cp1.example.org:7443").TLSServerName())
	again := c.Unverified("https://127.0.0.1:6443").Unverified("https://192.0.2.1")
	assert.Equal(t, "cp1.example.org", again.TLSServerName())
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// kubeadm's hash is that of the public key in DER.
func TestFingerprints(t *testing.T) {
	a, b := pki.New(t, "a"), pki.New(t, "b")
	der, err := x509.MarshalPKIXPublicKey(a.Cert.PublicKey)
	require.NoError(t, err)
	sums, err := kubeconfig.Fingerprints(a.PEM)
	require.NoError(t, err)
	assert.Equal(t, []string{fmt.Sprintf("sha256:%x", sha256.Sum256(der))}, sums)
	both, err := kubeconfig.Fingerprints(slices.Concat(a.PEM, b.PEM, a.PEM))
	require.NoError(t, err)
	assert.Len(t, both, 2)
	for _, bad := range []string{"", "x", string(a.PEM[:len(a.PEM)-20])} {
		_, err := kubeconfig.Fingerprints([]byte(bad))
		assert.Error(t, err, bad)
	}
}

func TestSameCA(t *testing.T) {
	a, b, c := pki.New(t, "a"), pki.New(t, "a"), pki.New(t, "c")
	for _, test := range []struct {
		x, y []byte
		want bool
	}{
		{a.PEM, a.PEM, true},
		{a.PEM, b.PEM, false}, // of one name, and two keys
		{slices.Concat(a.PEM, c.PEM), c.PEM, true},
		{slices.Concat(a.PEM, c.PEM), b.PEM, false},
	} {
		same, err := kubeconfig.SameCA(test.x, test.y)
		require.NoError(t, err)
		assert.Equal(t, test.want, same)
	}
	_, err := kubeconfig.SameCA(a.PEM, nil)
	assert.Error(t, err)
	_, err = kubeconfig.SameCA(nil, a.PEM)
	assert.Error(t, err)
}
