package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal gives a real terminal, and what a person would see on it.
func openTerminal(t *testing.T, columns uint16) (tty *os.File, seen func() string) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	all := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends in EIO once the terminal is closed
		all <- string(text)
	}()
	return tty, func() string {
		require.NoError(t, tty.Close())
		text := <-all
		require.NoError(t, master.Close())
		return text
	}
}

func TestExecOnATerminal(t *testing.T) {
	s := stub(t, "exec 0</dev/null")
	tty, seen := openTerminal(t, 40)
	code := run(t.Context(), []string{"exec", "cloud", "--", "sh", "-c", `printf 'a\033]0;owned\007b\377\r\n'; sleep 1; printf 'node: \233partial'`},
		&cli{in: strings.NewReader(""), out: tty, err: tty, env: func(k string) (string, bool) { v, ok := s.env[k]; return v, ok }})
	time.Sleep(10 * time.Millisecond)
	text := seen()
	assert.Equal(t, exitOK, code)
	// What is ours: the colour of the names, and the status line's end.
	ours := regexp.MustCompile("\x1b\\[(?:3[2356]|0)m|\x1b\\[K")
	assert.NotRegexp(t, "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", ours.ReplaceAllString(text, ""))
	for i, colour := range []string{"36", "33", "35", "32"} {
		name := fmt.Sprintf("\x1b[%smnode0%d\x1b[0m", colour, i+1)
		assert.Contains(t, text, name+` | a\x1b]0;owned\x07b\xff`+"\r\n")
		assert.Contains(t, text, name+` | node: \x9bpartial`+"\r\n")
	}
	status := regexp.MustCompile("\r\x1b\\[K(0/4 done[^\r]*)\r\x1b\\[K").FindStringSubmatch(text)
	if assert.NotNil(t, status, "%q", text) {
		assert.Regexp(t, "^0/4 done, 0 failed, 4 running: node0", status[1])
		assert.LessOrEqual(t, len(status[1]), 39, "one line of the terminal")
	}
	assert.Regexp(t, "\r\x1b\\[Knestor: 4 nodes in [0-9.]+s: 4 ok\r\n$", text)
}

func TestExecWithoutACommandOnATerminalPrintsItsUsage(t *testing.T) {
	s := stub(t, `echo "a shell: $*"`)
	tty, seen := openTerminal(t, 80)
	s.in = tty
	code, out, errs := s.exec(t, "node01")
	assert.Empty(t, seen())
	assert.Equal(t, exitUnevaluated, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "Usage:")
	assert.True(t, strings.HasSuffix(errs, "nestor: exec: want a command: nestor exec PATTERN -- ARGV...; no shell is opened\n"), errs)

	_, _, errs = s.exec(t, "node01", "--forks", "0", "--", "true")
	assert.Equal(t, "nestor: exec: --forks 0: want 1 or more\n", errs, "what is wrong with a flag takes one line")
}
