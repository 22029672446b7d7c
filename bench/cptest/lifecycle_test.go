//go:build integration

package cptest_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-tools/nestor/bench/cptest"
)

func TestRestartKeepsEverything(t *testing.T) {
	for name, end := range map[string]func(*cptest.Cluster, testing.TB){
		"after SIGTERM": (*cptest.Cluster).Stop,
		"after SIGKILL": (*cptest.Cluster).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			cluster := cptest.Start(t)
			cluster.SeedFiles(t, "testdata/shop.yaml")
			c := client(t, cluster.Kubeconfig)
			portal := cluster.As(cluster.ServiceAccountToken(t, "shop", "portal"))
			before, err := c.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)

			end(cluster, t)
			_, err = c.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
			require.Error(t, err, "the server is down")
			cluster.Restart(t)

			after, err := c.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err, "the same client, kubeconfig and certificate")
			assert.Equal(t, before, after)
			code, _ := portal.Do(t, http.MethodGet, "/api/v1/services", "")
			assert.Equal(t, http.StatusOK, code, "a token of before the restart")
			_, err = c.CoreV1().Services("shop").Create(t.Context(), nodePortService("taken", before.Spec.Ports[0].NodePort), metav1.CreateOptions{})
			assert.ErrorContains(t, err, "already allocated", "the allocator remembers")
			_, err = c.CoreV1().Services("shop").Create(t.Context(), nodePortService("new", 0), metav1.CreateOptions{})
			assert.NoError(t, err)
		})
	}
}

// server runs the binary by itself, as make controlplane does, and returns its
// ready file once it is there.
type server struct {
	cmd                          *exec.Cmd
	dir, kubeconfig, url, caFile string
	ready                        string
}

func binary(t *testing.T) string {
	t.Helper()
	api.Get(t) // says what to do when there is none
	if file, ok := os.LookupEnv("NESTOR_CONTROLPLANE"); ok {
		return file
	}
	file, err := filepath.Abs("../../bin/controlplane")
	require.NoError(t, err)
	return file
}

func run(t *testing.T, more ...string) *server {
	t.Helper()
	tmp := t.TempDir()
	s := &server{dir: filepath.Join(tmp, "data"), kubeconfig: filepath.Join(tmp, "kubeconfig"), ready: filepath.Join(tmp, "ready")}
	s.cmd = exec.Command(binary(t), append([]string{"--dir", s.dir, "--kubeconfig", s.kubeconfig, "--ready-file", s.ready}, more...)...)
	s.cmd.Stderr = os.Stderr
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(s.ready)
		if err != nil {
			return false
		}
		var ready struct {
			URL    string
			CAFile string `json:"ca_file"`
		}
		require.NoError(t, json.Unmarshal(b, &ready))
		s.url, s.caFile = ready.URL, ready.CAFile
		return true
	}, 2*time.Minute, 100*time.Millisecond)
}

func TestSIGTERMLeavesNothing(t *testing.T) {
	s := run(t, "--seed", "testdata/shop.yaml")
	s.start(t)
	c := client(t, s.kubeconfig)
	services, err := c.CoreV1().Services("shop").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, services.Items, 1, "ready means seeded")
	for _, file := range []string{s.kubeconfig, s.ready} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), file)
	}
	notOurs := filepath.Join(s.dir, "notes.txt")
	require.NoError(t, os.WriteFile(notOurs, []byte("mine"), 0o600))
	watch, err := c.CoreV1().Services("").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err, "a stop with a client still watching")
	defer watch.Stop()

	begin := time.Now()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, s.cmd.Wait(), "exit code 0")
	t.Logf("stopped in %s", time.Since(begin))
	for _, file := range []string{s.kubeconfig, s.ready} {
		assert.NoFileExists(t, file)
	}
	left, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "only what is not the server's")
	assert.Equal(t, "notes.txt", left[0].Name())
	u, err := url.Parse(s.url)
	require.NoError(t, err)
	_, err = net.Dial("tcp", u.Host)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestServerEndsWithItsOwner(t *testing.T) {
	s := run(t, "--with-stdin", "--keep")
	stdin, err := s.cmd.StdinPipe()
	require.NoError(t, err)
	s.start(t)
	require.NoError(t, stdin.Close()) // what the system does when the owner is killed
	assert.NoError(t, s.cmd.Wait())
	assert.NoDirExists(t, s.dir, "nobody is left to restart it")
}

func TestServerRefusesWhatIsNotItsOwn(t *testing.T) {
	refused := func(t *testing.T, args ...string) string {
		t.Helper()
		out, err := exec.Command(binary(t), args...).CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s", out)
		assert.Equal(t, 1, exit.ExitCode())
		return string(out)
	}
	t.Run("a directory with files", func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "thesis.txt")
		require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
		assert.Contains(t, refused(t, "--dir", dir), "was not made by controlplane")
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, entries, 1)
	})
	t.Run("a kubeconfig", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config")
		require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
		assert.Contains(t, refused(t, "--kubeconfig", file), "was not written by controlplane")
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, "apiVersion: v1\nkind: Config\n", string(b))
	})
	t.Run("a directory in use", func(t *testing.T) {
		cluster := api.Get(t)
		assert.Contains(t, refused(t, "--dir", cluster.Dir), "is used by another")
		code, _ := cluster.Do(t, http.MethodGet, "/readyz", "")
		assert.Equal(t, http.StatusOK, code)
	})
	t.Run("a seed it cannot read", func(t *testing.T) {
		out := refused(t, "seed", "--kubeconfig", api.Get(t).Kubeconfig, "testdata/absent.yaml")
		assert.Contains(t, out, "absent.yaml")
	})
	t.Run("an unknown kind", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "x.yaml")
		require.NoError(t, os.WriteFile(file, []byte("\n---\napiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\n"), 0o600))
		out := refused(t, "seed", "--kubeconfig", api.Get(t).Kubeconfig, file)
		assert.Contains(t, out, "x.yaml:2: Thing a: the server has no kind Thing in example.org/v1")
	})
	t.Run("no kubeconfig named", func(t *testing.T) {
		assert.Contains(t, refused(t, "seed", "testdata/shop.yaml"), "usage: controlplane seed --kubeconfig")
	})
}
