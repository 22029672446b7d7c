package serve

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections bounds how many connections are open. Beyond the bound, the one
// that has waited longest for a request makes room: browsers that are not
// asking anything lose nothing, and who opens thousands does not lock out the
// others.
type connections struct {
	most int

	mu     sync.Mutex
	open   map[net.Conn]*list.Element // its place in idle; nil: a request is under way
	idle   list.List                  // of net.Conn, the longest first
	closed int                        // to make room
}

// state is http.Server.ConnState.
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.open[conn]; place != nil {
		c.idle.Remove(place)
	}
	switch state {
	case http.StateActive:
		c.open[conn] = nil
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.idle.PushBack(conn)
		if len(c.open) > c.most {
			longest := c.idle.Remove(c.idle.Front()).(net.Conn)
			delete(c.open, longest)
			c.closed++
			_ = longest.Close() // the server notices by itself
		}
	default:
		delete(c.open, conn)
	}
}

func (c *connections) counts() (open, closed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.closed
}
