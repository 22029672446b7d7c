package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// growing is an output that is read while it is written.
type growing struct {
	mu   sync.Mutex
	text strings.Builder
}

func (g *growing) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(b)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// nowhere is a kubeconfig of a server that is not there.
const nowhere = `{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: x, user: {}}], contexts: [{name: x, context: {cluster: x, user: x}}]}`

func TestPortalServe(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(nowhere), 0o600))
	contract := filepath.Join("..", "..", "portal", "deploy", "contract")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, progress := &growing{}, &growing{}
	env := map[string]string{"PORTAL_ACCESS_HOST": "way.example.org portal=other.example.org"}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"portal", "serve", "--contract", contract, "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0"},
			&cli{in: strings.NewReader(""), out: out, err: progress, env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	}()
	var address string
	require.Eventually(t, func() bool {
		if found := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(progress.String()); found != nil {
			address = found[1]
		}
		return address != ""
	}, time.Minute, 20*time.Millisecond)
	get := func(host string) (int, string) {
		r, err := http.NewRequest(http.MethodGet, "http://"+address+"/api/v1/view", nil)
		require.NoError(t, err)
		r.Host = host
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(b)
	}
	code, view := get(address)
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, view, `"verdict":"UNKNOWN"`, "a server that is not there makes nothing MISSING")
	for host, want := range map[string]int{"way.example.org": 200, "other.example.org": 200, "evil.example": 421} {
		code, _ := get(host)
		assert.Equal(t, want, code, host)
	}
	cancel()
	select {
	case code := <-ended:
		assert.Equal(t, exitOK, code)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	assert.Empty(t, out.String())
}

func TestPortalServeRefuses(t *testing.T) {
	contract := filepath.Join("..", "..", "portal", "deploy", "contract")
	for want, args := range map[string][]string{
		"name it with --contract":       {"--contract", "nothing.yaml"},
		"name a file with":              {"--contract", contract, "--kubeconfig", "nothing"},
		"without scheme, port or path":  {"--contract", contract, "--access-host", "http://node1"},
		"ports that are forwarded here": {"--contract", contract, "--access-host", "portal=127.0.0.1"},
		`unknown command "whatever"`:    {"whatever"},
	} {
		progress := &growing{}
		code := run(t.Context(), append([]string{"portal", "serve"}, args...), &cli{in: strings.NewReader(""), out: io.Discard, err: progress, env: func(string) (string, bool) { return "", false }})
		assert.Equal(t, exitUnevaluated, code, args)
		assert.Contains(t, progress.String(), want)
		assert.Equal(t, 1, strings.Count(progress.String(), "\n"), progress.String())
	}
}
