package kubeconfig_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/bench/pki"
	"github.com/nestor-tools/nestor/nodeexec/kubeconfig"
)

// job is what a process of its own does to a file, to be killed at it.
type job struct {
	Conf, File string
	Merge      bool
	Other      string // alternate with this one, for ever
	DieAt      string // kill -9 at this step
	Limit      uint64 // no file may become larger: a full disk
	Ignore     bool   // survive the signal of that
}

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv("NESTOR_TEST_JOB"); ok {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		os.Exit(j.do())
	}
	os.Exit(m.Run())
}

// do writes the file, in the process of its own. It prints its steps.
func (j job) do() int {
	if j.Ignore {
		signal.Ignore(syscall.SIGXFSZ)
	}
	if j.Limit > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: j.Limit, Max: j.Limit}); err != nil {
			panic(err)
		}
	}
	confs := []string{j.Conf}
	if j.Other != "" {
		confs = append(confs, j.Other)
	}
	for i := 0; i < 1 || j.Other != ""; i++ {
		c, err := kubeconfig.Parse([]byte(confs[i%len(confs)]), time.Now())
		if err != nil {
			panic(err)
		}
		_, err = c.Write(context.Background(), j.File, kubeconfig.WriteOptions{Merge: j.Merge, Replace: true}.At(func(step string) {
			fmt.Println(step)
			if step == j.DieAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// command is the process that does the job.
func (j job) command(t testing.TB) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "NESTOR_TEST_JOB="+string(text))
	return cmd
}

// leftovers are the files of a folder that should not stay.
func leftovers(t testing.TB, file string) (left []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != filepath.Base(file) && e.Name() != filepath.Base(file)+kubeconfig.BackupSuffix {
			left = append(left, filepath.Join(filepath.Dir(file), e.Name()))
		}
	}
	return left
}

// A real process is killed at each step of the transaction. The file is the
// old one or, once it has the name, the new one; and the next run works.
func TestKilledAtEveryStepTheFileIsWhole(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	oldConf, newConf := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()), ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	for _, merged := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			t.Run(fmt.Sprintf("merge %v, old file %v", merged, exists), func(t *testing.T) {
				setUp := func() (file string) {
					file = filepath.Join(t.TempDir(), "my config")
					if exists {
						require.NoError(t, os.WriteFile(file, []byte(oldConf), 0o600))
					}
					return file
				}
				whole := setUp()
				out, err := job{Conf: newConf, File: whole, Merge: merged}.command(t).Output()
				require.NoError(t, err)
				want, err := os.ReadFile(whole)
				require.NoError(t, err)
				steps := strings.Split(strings.TrimSpace(string(out)), "\n")
				require.GreaterOrEqual(t, len(steps), map[bool]int{false: 7, true: 13}[exists], "%q", steps)
				for _, step := range steps {
					file := setUp()
					err := job{Conf: newConf, File: file, Merge: merged, DieAt: step}.command(t).Run()
					var exit *exec.ExitError
					require.ErrorAs(t, err, &exit, step)
					require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), step)
					got, err := os.ReadFile(file)
					switch {
					case step == "renamed":
						require.Equal(t, string(want), string(got), step)
					case exists:
						require.Equal(t, oldConf, string(got), step)
					default:
						require.ErrorIs(t, err, os.ErrNotExist, step)
					}
					for _, left := range leftovers(t, file) {
						info, err := os.Stat(left)
						require.NoError(t, err)
						assert.Equal(t, os.FileMode(0o600), info.Mode(), left)
						hourAgo := time.Now().Add(-time.Hour)
						require.NoError(t, os.Chtimes(left, hourAgo, hourAgo)) // as if it had been left an hour ago
					}
					require.NoError(t, job{Conf: oldConf, File: file, Merge: merged}.command(t).Run(), step)
					require.NoError(t, job{Conf: newConf, File: file, Merge: merged}.command(t).Run(), step)
					got, err = os.ReadFile(file)
					require.NoError(t, err)
					assert.Equal(t, parsed(t, newConf).Server(), parsed(t, string(got)).Server(), step)
					assert.Empty(t, leftovers(t, file), step)
				}
			})
		}
	}
}

// Killed at any moment, not only between steps.
func TestKilledAtAnyMomentTheFileIsWhole(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	a, b := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()), ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, job{Conf: a, File: file}.command(t).Run())
	for range 30 {
		cmd := job{Conf: a, Other: b, File: file}.command(t)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 3 + rand.IntN(30) {
			require.True(t, lines.Scan(), "it works until it is killed")
		}
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		parsed(t, string(text)) // refuses every piece of a file
	}
}

// A file that may not grow is a full disk to the writer.
func TestWhatCannotBeWrittenLeavesTheOldFile(t *testing.T) {
	ca := pki.New(t, "kubernetes")
	oldConf, newConf := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()), ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	for _, limit := range []uint64{1, 700, 1500} {
		for _, ignore := range []bool{true, false} { // an error, and a process that dies in the middle of a write
			file := filepath.Join(t.TempDir(), "config")
			require.NoError(t, os.WriteFile(file, []byte(oldConf), 0o600))
			cmd := job{Conf: newConf, File: file, Limit: limit, Ignore: ignore}.command(t)
			cmd.Stdout = nil // a pipe has no size
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			if ignore {
				assert.Contains(t, string(out), file+": its copy: file too large")
				assert.Empty(t, leftovers(t, file))
			}
			assertNoSecret(t, string(out), append(pki.Secrets(oldConf), pki.Secrets(newConf)...))
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, oldConf, string(got))
		}
	}
}

// A disk that is really full: a tmpfs of a few pages, in a mount namespace of
// the process's own.
func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("a file system of its own needs root on linux")
		}
		t.Skip("NOT RUN: a file system of its own needs root on linux")
	}
	ca := pki.New(t, "kubernetes")
	oldConf, newConf := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()), ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	dir := t.TempDir()
	says := map[int]string{}
	for pages := 1; pages <= 4; pages++ {
		j := job{Conf: newConf, File: filepath.Join(dir, "config")}
		child := j.command(t)
		script := fmt.Sprintf("mount --make-rprivate / && mount -t tmpfs -o size=%dk none '%s' && printf %%s \"$OLD\" >'%s/config' && { \"$0\" >/dev/null; echo rc=$?; ls -A '%s'; cat '%s/config'; }", 4*pages, dir, dir, dir, dir)
		cmd := exec.Command("unshare", "--mount", "sh", "-c", script, child.Path)
		cmd.Env = append(child.Env, "OLD="+oldConf)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s", &stderr)
		says[pages] = stderr.String()
		if bytes.HasPrefix(out, []byte("rc=0\n")) {
			assert.Contains(t, string(out), "https://192.0.2.2:6443")
			assert.NotContains(t, says[pages], "no space left")
			continue
		}
		assert.Contains(t, says[pages], "no space left on device")
		files, text, ok := strings.Cut(string(out), "apiVersion")
		require.True(t, ok)
		assert.Equal(t, oldConf, "apiVersion"+text, "%d pages", pages)
		assert.NotContains(t, files, ".config", "nothing half-written stays")
	}
	assert.Contains(t, says[1], "its copy: ")
	assert.NotContains(t, says[2], "its copy: ")
	assert.Contains(t, says[2], "no space left")
	assert.Empty(t, says[4])
}

// A folder that the user may not write to.
func TestAFolderThatIsNotOursLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	ca := pki.New(t, "kubernetes")
	oldConf, newConf := ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()), ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())
	require.NoError(t, os.WriteFile(file, []byte(oldConf), 0o600))
	cmd := job{Conf: newConf, File: file}.command(t)
	if os.Geteuid() == 0 {
		const nobody = 65534
		require.NoError(t, os.Chown(file, nobody, nobody))
		cmd.Path = "/proc/self/exe" // the binary lies in a folder of root's
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			require.NoError(t, os.Chmod(d, 0o755))
		}
	} else {
		require.NoError(t, os.Chmod(dir, 0o500))
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v: %s", err, out)
	assert.Equal(t, 1, exit.ExitCode(), "%s", out)
	assert.Contains(t, string(out), "permission denied")
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, oldConf, string(got))
	assert.Empty(t, leftovers(t, file))
}

// Root writes for a user, and the file stays the user's.
func TestAFileStaysItsOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("giving a file away needs root")
		}
		t.Skip("NOT RUN: giving a file away needs root")
	}
	const nobody = 65534
	ca := pki.New(t, "kubernetes")
	file := write(t, filepath.Join(t.TempDir(), "config"), ca.AdminConf(t, "https://192.0.2.1:6443", pki.NextYear()), 0o600)
	require.NoError(t, os.Chown(file, nobody, nobody))
	w, err := parsed(t, ca.AdminConf(t, "https://192.0.2.2:6443", pki.NextYear())).Write(t.Context(), file, kubeconfig.WriteOptions{})
	require.NoError(t, err)
	for _, name := range []string{file, w.Backup} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, uint32(nobody), info.Sys().(*syscall.Stat_t).Uid, name)
	}
}
