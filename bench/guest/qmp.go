package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// dial connects to a control socket. A qemu that is busy, as each is while it
// starts, lets few callers wait and turns others away: it is there all the same.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	for tries := 0; ; tries++ {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if !errors.Is(err, syscall.EAGAIN) || tries == 600 || ctx.Err() != nil {
			return conn, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// qmp asks qemu one thing over its control socket: a connection for each, so
// that nothing is kept open and whoever holds the folder may ask.
func qmp(ctx context.Context, socket, command string, args map[string]any) (json.RawMessage, error) {
	conn, err := dial(ctx, socket)
	if err != nil {
		return nil, fmt.Errorf("qemu does not answer: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	// The greeting, and the answer to the handshake, which must come first.
	var greeting json.RawMessage
	if err := in.Decode(&greeting); err != nil {
		return nil, fmt.Errorf("qemu: %w", err)
	}
	for _, ask := range []map[string]any{
		{"execute": "qmp_capabilities"},
		{"execute": command, "arguments": args},
	} {
		if args == nil {
			delete(ask, "arguments")
		}
		if err := out.Encode(ask); err != nil {
			return nil, fmt.Errorf("qemu: %s: %w", command, err)
		}
		answer, err := result(in)
		if err != nil {
			return nil, fmt.Errorf("qemu: %s: %w", command, err)
		}
		if ask["execute"] == command {
			return answer, nil
		}
	}
	return nil, nil
}

// result reads up to the answer; events come between.
func result(in *json.Decoder) (json.RawMessage, error) {
	for {
		var message struct {
			Return json.RawMessage
			Error  *struct{ Desc string }
		}
		if err := in.Decode(&message); err != nil {
			return nil, err
		}
		if message.Error != nil {
			return nil, fmt.Errorf("%s", message.Error.Desc)
		}
		if message.Return != nil {
			return message.Return, nil
		}
	}
}
