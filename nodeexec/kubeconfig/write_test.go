package kubeconfig_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

func write(t testing.TB, file, text string, mode os.FileMode) string {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), mode))
	require.NoError(t, os.Chmod(file, mode))
	return file
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

func TestWriteReplacesAWholeFile(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	c := parsed(t, ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	file := filepath.Join(t.TempDir(), "bench.kubeconfig")
	first, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{})
	require.NoError(t, err)
	assert.True(t, first.Changed)
	assert.Empty(t, first.Backup)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	assert.Equal(t, c.REST(), parsed(t, read(t, file)).REST())

	again, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{})
	require.NoError(t, err)
	assert.False(t, again.Changed)
	same, err := os.Stat(file)
	require.NoError(t, err)
	assert.True(t, os.SameFile(info, same), "what is right already is not touched")

	old := read(t, file)
	require.NoError(t, os.Chmod(file, 0o644))
	moved, err := c.At("https://192.0.2.2:6443", "cp1").Write(t.Context(), file, kubeconfig.WriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, file+kubeconfig.BackupSuffix, moved.Backup)
	assert.Equal(t, old, read(t, moved.Backup))
	assert.Contains(t, moved.Remarks, "its mode changes from 0644 to 0600")
	for _, name := range []string{file, moved.Backup} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), name)
	}
	assert.Empty(t, leftovers(t, file))
}

func TestWriteMendsTheModeAlone(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	text, err := c.YAML()
	require.NoError(t, err)
	file := write(t, filepath.Join(t.TempDir(), "config"), string(text), 0o666)
	w, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{})
	require.NoError(t, err)
	assert.True(t, w.Changed)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	assert.Equal(t, string(text), read(t, file))
}

func TestWriteFollowsALink(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	dir, dotfiles := t.TempDir(), t.TempDir()
	real := write(t, filepath.Join(dotfiles, "kubeconfig"), "", 0o600)
	link := filepath.Join(dir, "config")
	require.NoError(t, os.Symlink(real, link))
	w, err := c.Write(t.Context(), link, kubeconfig.WriteOptions{Merge: true})
	require.NoError(t, err)
	assert.Equal(t, real, w.Path)
	target, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, real, target, "it is a link still")
	parsed(t, read(t, real))
	assert.Empty(t, leftovers(t, real))
}

func TestWriteRefusesWhatIsNoFile(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	dir := t.TempDir()
	dangling := filepath.Join(dir, "dangling")
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), dangling))
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	key := write(t, filepath.Join(dir, "id_ed25519"), "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n", 0o600)
	broken := write(t, filepath.Join(dir, "broken"), "apiVersion: v1\n  clusters: SECRET\n", 0o600)
	for file, says := range map[string]string{
		dir:                             "is no plain file",
		"/dev/null":                     "is no plain file",
		dangling:                        "is a link to what is not there",
		loop:                            "is a link to what is not there",
		filepath.Join(dir, "no", "x"):   "its folder: no such file or directory",
		dir + "/new/":                   "its folder: no such file or directory",
		filepath.Join(key, "x"):         "not a directory",
		key:                             "refused: what is there is no kubeconfig",
		broken:                          "refused: what is there is no kubeconfig: not a usable kubeconfig: it is no YAML (line 2); --replace takes its place",
		filepath.Join(dir, "x\x00y"):    "invalid argument",
		filepath.Join(dir, "new", ".."): "is no plain file",
	} {
		_, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{})
		if assert.ErrorContains(t, err, says, "%q", file) {
			assert.NotContains(t, err.Error(), "SECRET")
		}
	}
	assert.Equal(t, "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n", read(t, key))
	_, err := c.Write(t.Context(), broken, kubeconfig.WriteOptions{Replace: true})
	require.NoError(t, err)
	assert.Contains(t, read(t, broken+kubeconfig.BackupSuffix), "SECRET")
}

// five is a user's own file, with five clusters.
func five(t testing.TB) string {
	return read(t, filepath.Join("internal", "merge", "testdata", "five.yaml"))
}

func TestMergeLeavesTheRestByteForByte(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	c := parsed(t, ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())).Named("new")
	file := write(t, filepath.Join(t.TempDir(), "config"), five(t), 0o600)
	w, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true, Current: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"the current context changes from prod to new"}, w.Remarks)
	assert.Equal(t, five(t), read(t, w.Backup))
	now := read(t, file)
	text, err := c.YAML()
	require.NoError(t, err)
	for line := range strings.Lines(five(t)) {
		if !strings.HasPrefix(line, "current-context") {
			_, after, ok := strings.Cut(now, line)
			require.True(t, ok, "%q is there, and in its order", line)
			now = after
		}
	}
	assert.Contains(t, read(t, file), "current-context: new     # careful\n")
	assert.Equal(t, strings.Count(five(t), "\n")+strings.Count(string(text), "\n")-6, strings.Count(read(t, file), "\n"), "and nothing else")
	assert.Equal(t, c.REST(), parsed(t, read(t, file)).REST())

	again, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true, Current: true})
	require.NoError(t, err)
	assert.False(t, again.Changed)
	assert.Equal(t, five(t), read(t, w.Backup), "nothing was replaced")
}

// kubectl reads YAML 1.1, in which more words mean something else than a name.
func TestKubectlReadsWhateverItIsCalled(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	for _, name := range []string{
		"y", "Yes", "ON", "n", "No", "off", "<<", "true", "~", "1e3", "0777", "1:20", "2026-01-01",
		"a: b", "x # y", "#x", "- y", "{x", "*a", "!a", "|", "%x", "@x", "=", `q'u"o\`, "é漢", "--help",
	} {
		for kind, old := range map[string]string{"a file of its own": "", "in place": five(t), "anew": "clusters: [{name: a, cluster: &c {server: s}}]\ncontexts:\n- {name: a, context: {cluster: a, user: a}}\n", "JSON": `{"clusters": [], "contexts": []}`} {
			if kind != "in place" && len(name) > 3 { // each write waits for the disk
				continue
			}
			file := write(t, filepath.Join(t.TempDir(), "config"), old, 0o600)
			_, err := c.Named(name).Write(t.Context(), file, kubeconfig.WriteOptions{Merge: old != "", Current: true})
			require.NoError(t, err, "%s: %s", name, kind)
			loaded, err := clientcmd.LoadFromFile(file)
			require.NoError(t, err, "%s: %s", name, kind)
			require.Equal(t, name, loaded.CurrentContext, kind)
			require.Contains(t, loaded.Contexts, name, kind)
			require.Contains(t, loaded.Clusters, loaded.Contexts[name].Cluster, kind)
			require.Contains(t, loaded.AuthInfos, name+"-admin", kind)
		}
	}
}

func TestMergeKeepsTheCurrentContext(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	file := write(t, filepath.Join(t.TempDir(), "config"), five(t), 0o600)
	_, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true})
	require.NoError(t, err)
	assert.Contains(t, read(t, file), "current-context: prod     # careful\n")
	for _, text := range []string{"", "# mine\n", "apiVersion: v1\nclusters: null\ncontexts: null\ncurrent-context: \"\"\nkind: Config\nusers: null\n"} {
		write(t, file, text, 0o600)
		_, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true})
		require.NoError(t, err)
		assert.Equal(t, c.REST(), parsed(t, read(t, file)).REST())
		if strings.HasPrefix(text, "#") {
			assert.True(t, strings.HasPrefix(read(t, file), text))
		}
	}
}

func TestMergeRefusesNamesOfOthers(t *testing.T) {
	ca, other := pki.New(t, "kubernetes"), pki.New(t, "kubernetes")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "other.crt"), string(other.PEM), 0o644)
	write(t, filepath.Join(dir, "ours.crt"), string(ca.PEM), 0o644)
	conf := other.AdminConf(t, "https://198.51.100.1:6443", pki.NextYear())
	authorityLine := "certificate-authority-data: " + b64(other.PEM)
	sum := func(a pki.Authority) string {
		sums, err := kubeconfig.Fingerprints(a.PEM)
		require.NoError(t, err)
		return sums[0]
	}
	for _, test := range []struct {
		name, old string
		says      []string // none: taken
		replace   bool     // whether --replace overrides
	}{
		{"another authority", conf, []string{"cluster \"kubernetes\" (https://198.51.100.1:6443) has another certificate authority", sum(other), sum(ca), "--replace"}, true},
		{"another authority, in a file", strings.Replace(conf, authorityLine, "certificate-authority: other.crt", 1), []string{sum(other), sum(ca)}, true},
		{"our authority, in a file", strings.Replace(conf, authorityLine, "certificate-authority: ours.crt", 1), nil, false},
		{"an authority that cannot be read", strings.Replace(conf, authorityLine, "certificate-authority: /nowhere/ca.crt", 1), []string{"there one that cannot be read (/nowhere/ca.crt)"}, true},
		{"no authority", strings.Replace(conf, authorityLine, "insecure-skip-tls-verify: true", 1), []string{"there none, here " + sum(ca)}, true},
		{"an authority that is damaged", strings.Replace(conf, authorityLine, "certificate-authority-data: aGVsbG8=", 1), []string{"there one that is damaged"}, true},
		{"our cluster, an old certificate", ca.AdminConf(t, "https://192.0.2.7:6443", pki.NextYear()), nil, false},
		{"both authorities", strings.Replace(conf, authorityLine, "certificate-authority-data: "+b64(append(append([]byte{}, other.PEM...), ca.PEM...)), 1), nil, false},
		{"the user of another cluster", "clusters:\n- name: x\n  cluster: {server: https://x}\nusers:\n- name: kubernetes-admin\n  user: {token: x}\ncontexts:\n- name: x\n  context: {cluster: x, user: kubernetes-admin}\n",
			[]string{`its user "kubernetes-admin" is also that of cluster "x" (context "x")`}, false},
		{"the context of another cluster", "contexts:\n- name: kubernetes-admin@kubernetes\n  context: {cluster: x, user: y}\n", []string{`its context "kubernetes-admin@kubernetes" is of cluster "x"`}, true},
		{"a user of nobody", "users:\n- name: kubernetes-admin\n  user: {token: x}\n", []string{"a user \"kubernetes-admin\" of no cluster"}, true},
		{"names twice", conf + "---\n" + conf, []string{"more than one YAML document"}, false},
		{"clusters twice", strings.Replace(conf, "contexts:", "- name: kubernetes\n  cluster: {server: x}\ncontexts:", 1), []string{"two entries of one name"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := write(t, filepath.Join(dir, "config"), test.old, 0o600)
			c := parsed(t, ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
			_, checkErr := c.Check(file, kubeconfig.WriteOptions{Merge: true})
			_, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true})
			assert.Equal(t, err, checkErr)
			if test.says == nil {
				require.NoError(t, err)
				now := parsed(t, strings.Replace(read(t, file), "insecure-skip-tls-verify: true", "", 1))
				assert.Equal(t, c.REST(), now.REST())
				return
			}
			for _, says := range test.says {
				assert.ErrorContains(t, err, says)
			}
			assert.NotContains(t, err.Error(), "\n")
			assert.Equal(t, test.old, read(t, file))
			_, err = c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true, Replace: true, Current: true})
			if !test.replace {
				assert.Error(t, err)
				assert.Equal(t, test.old, read(t, file))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.REST(), parsed(t, read(t, file)).REST())
		})
	}
}

// Everything that a diff shows, and that it shows no secret.
func TestCheckShowsNoSecretAndTouchesNothing(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	oldConf := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear())
	newConf := ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	users := five(t) + "x: {token: SECRET1, a: [{client-key-data: SECRET2}]} # token: SECRET3\n"
	for name, old := range map[string]string{"replaced": oldConf, "new": "", "a user's": users, "with a header": "# token: SECRET3\n" + oldConf} {
		for _, merged := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", merged), func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "config")
				if name != "new" {
					write(t, file, old, 0o600)
				}
				c := parsed(t, newConf).At("https://192.0.2.2:6443", "cp1")
				w, err := c.Check(file, kubeconfig.WriteOptions{Merge: merged, Current: true})
				require.NoError(t, err)
				assert.True(t, w.Changed)
				assert.Contains(t, w.Diff, "+      server: https://192.0.2.2:6443\n")
				assert.Contains(t, w.Diff, "+      tls-server-name: cp1\n")
				assert.Contains(t, w.Diff, "client-key-data: '*** (after)'")
				assert.Contains(t, w.Diff, "CN=kubernetes-admin")
				assertNoSecret(t, w.Diff, append(pki.Secrets(oldConf), pki.Secrets(newConf)...))
				for _, secret := range []string{"SECRET", "p #1", "folded-token", "get-token", "not-a-comment", "T0xES0VZ"} {
					assert.NotContains(t, w.Diff, secret)
				}
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				assert.Len(t, entries, map[bool]int{true: 0, false: 1}[name == "new"])
				if name != "new" {
					assert.Equal(t, old, read(t, file))
				}
				written, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{Merge: merged, Current: true})
				require.NoError(t, err)
				assert.Equal(t, w.Diff, written.Diff, "it is what happens")
				w, err = c.Check(file, kubeconfig.WriteOptions{Merge: merged, Current: true})
				require.NoError(t, err)
				assert.False(t, w.Changed)
				assert.Empty(t, w.Diff)
			})
		}
	}
}

func TestWriteWaitsForKubectl(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	file := filepath.Join(t.TempDir(), "config")
	lock := write(t, file+".lock", "", 0o600)
	_, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{}) // a deadline of our own could end the wait for our own lock
	require.ErrorIs(t, err, kubeconfig.ErrBusy)
	assert.ErrorContains(t, err, lock+" is there, kubectl's lock")
	time.AfterFunc(200*time.Millisecond, func() { _ = os.Remove(lock) })
	_, err = c.Write(t.Context(), file, kubeconfig.WriteOptions{})
	require.NoError(t, err)
	assert.Empty(t, leftovers(t, file))
}

// In a folder where others may write, a lock can be a trap.
func TestALockIsNoLink(t *testing.T) {
	c := parsed(t, pki.New(t, "x").AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, ".config.nestor-lock")))
	_, err := c.Write(t.Context(), filepath.Join(dir, "config"), kubeconfig.WriteOptions{})
	require.ErrorContains(t, err, "lock: ")
	require.ErrorIs(t, err, syscall.ELOOP)
	assert.NoFileExists(t, filepath.Join(dir, "elsewhere"))
	assert.NoFileExists(t, filepath.Join(dir, "config"))
}

// Somebody who takes no lock changes the file while it is being written.
func TestWriteSeesThatTheFileChangedMeanwhile(t *testing.T) {
	ca := pki.New(t, "x")
	c := parsed(t, ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	file := write(t, filepath.Join(t.TempDir(), "config"), ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear()), 0o600)
	theirs := ca.AdminConf(t, "https://192.0.2.3:6443", pki.NextYear())
	_, err := c.Write(t.Context(), file, kubeconfig.WriteOptions{}.At(func(step string) {
		if step == "half" {
			write(t, file, theirs, 0o600)
		}
	}))
	require.ErrorIs(t, err, kubeconfig.ErrBusy)
	assert.Equal(t, theirs, read(t, file))
	assert.Empty(t, leftovers(t, file))
}

func TestWriteStopsBetweenStepsWhenCancelled(t *testing.T) {
	ca := pki.New(t, "x")
	c := parsed(t, ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	old := ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	for _, at := range []string{"locked", "backup made", "backup half", "made", "half", "written", "synced", "renamed"} {
		file := write(t, filepath.Join(t.TempDir(), "config"), old, 0o600)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Write(ctx, file, kubeconfig.WriteOptions{}.At(func(step string) {
			if step == at {
				cancel()
			}
		}))
		if at == "renamed" { // too late: it is done
			require.NoError(t, err)
			assert.NotEqual(t, old, read(t, file))
		} else {
			require.ErrorIs(t, err, context.Canceled, at)
			assert.Equal(t, old, read(t, file), at)
		}
		assert.Empty(t, leftovers(t, file), at)
		cancel()
	}
}

// Twenty at once: each entry gets in, and none gets lost.
func TestWritersTakeTurns(t *testing.T) {
	ca := pki.New(t, "x")
	file := write(t, filepath.Join(t.TempDir(), "config"), five(t), 0o600)
	c := parsed(t, ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := c.Named(fmt.Sprintf("bench%d", i)).Write(t.Context(), file, kubeconfig.WriteOptions{Merge: true})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for i := range 20 {
		assert.Contains(t, read(t, file), fmt.Sprintf("name: bench%d\n", i))
	}
	for line := range strings.Lines(five(t)) {
		assert.Contains(t, read(t, file), line)
	}
	assert.Empty(t, leftovers(t, file))
}
