package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/nestor-tools/nestor/nodeexec"
)

// jsonReport prints a line of nestor.exec/v1 for each node as it ends.
type jsonReport struct{ screen *screen }

func (jsonReport) streams(int) (stdout, stderr io.Writer) { return nil, nil }

func (r jsonReport) outcome(o nodeexec.Outcome) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(newExecLine(o)); err != nil {
		return err
	}
	_, err := r.screen.stdout().Write(line.Bytes())
	return err
}

func (jsonReport) end() error { return nil }

// execLine is one line of nestor.exec/v1.
type execLine struct {
	Schema       string     `json:"schema"`
	Node         string     `json:"node"`
	ExitCode     *int       `json:"exit_code"`
	Stdout       *string    `json:"stdout,omitempty"`
	StdoutBase64 []byte     `json:"stdout_base64,omitempty"`
	Stderr       *string    `json:"stderr,omitempty"`
	StderrBase64 []byte     `json:"stderr_base64,omitempty"`
	Signal       *string    `json:"signal"`
	Dropped      dropped    `json:"dropped"`
	Error        *execError `json:"error"`
	DurationMS   int64      `json:"duration_ms"`
}

type dropped struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

type execError struct {
	Kind    nodeexec.Kind   `json:"kind"`
	Message string          `json:"message"`
	Remote  nodeexec.Remote `json:"remote"`
}

func newExecLine(o nodeexec.Outcome) execLine {
	line := execLine{
		Schema: "nestor.exec/v1", Node: o.Node, DurationMS: o.Result.Duration.Milliseconds(),
		Dropped: dropped{Stdout: o.Result.Stdout.Dropped, Stderr: o.Result.Stderr.Dropped},
	}
	line.Stdout, line.StdoutBase64 = textOrBytes(o.Result.Stdout.Bytes())
	line.Stderr, line.StderrBase64 = textOrBytes(o.Result.Stderr.Bytes())
	switch e, ok := errors.AsType[*nodeexec.Error](o.Err); {
	case ok:
		line.Error = &execError{Kind: e.Kind, Message: e.Error(), Remote: e.Remote}
	case o.Err == nil:
		line.ExitCode = &o.Result.ExitCode
		if o.Result.Signal != "" {
			line.Signal = &o.Result.Signal
		}
	}
	return line
}

func textOrBytes(b []byte) (*string, []byte) {
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	return nil, b
}
