package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// connecting says why there is no connection.
func connecting(err error, host string, timeout time.Duration) (Kind, string) {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if !dns.IsNotFound {
			return NoSuchName, fmt.Sprintf("the resolver of this machine does not answer for the name %s: %s", oneLine(dns.Name), oneLine(dns.Err))
		}
		return NoSuchName, "this machine does not know the name " + oneLine(dns.Name)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused, "connection refused: nothing listens on " + host
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return NoRoute, "no route to " + host
	case errors.Is(err, syscall.ECONNRESET):
		return Reset, "the connection was reset as it opened"
	case timedOut(err):
		return TimedOut, fmt.Sprintf("no answer from %s within %s: the packets vanish", host, timeout)
	}
	return Local, oneLine(err.Error())
}

// handshaking says why TLS did not come about, and whether the server speaks
// it at all.
func handshaking(err error, timeout time.Duration) (kind Kind, message string, speaksTLS bool) {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return TLSFailed, "the answer is no TLS", false
	}
	if kind, message = asking(err, timeout); kind != NotHTTP {
		return kind, message, kind == TLSFailed
	}
	return TLSFailed, "no TLS handshake: " + oneLine(err.Error()), true
}

// asking says why an open connection gave no answer.
func asking(err error, timeout time.Duration) (Kind, string) {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // how crypto/tls gives alerts; TLS 1.3 asks for a client's certificate this late
		return TLSFailed, "the server refuses TLS: " + oneLine(op.Err.Error())
	}
	switch {
	case timedOut(err):
		return Silent, fmt.Sprintf("it opens, and no answer comes within %s", timeout)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset, "the connection was reset before an answer"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Closed, "the connection was closed without a whole answer"
	}
	return NotHTTP, "the answer is no HTTP: " + oneLine(err.Error())
}

func timedOut(err error) bool {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}
