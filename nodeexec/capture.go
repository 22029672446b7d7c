package nodeexec

import "sync"

// capture keeps the two ends of a stream and counts what lies between. It is
// safe for use by several goroutines.
type capture struct {
	headLimit, tailLimit int // bytes kept of each end

	head, tail []byte // tail grows to twice its limit before it is cut
	dropped    int64

	mu    sync.Mutex
	taken bool // output was called: a reader that was given up may still write
}

// newCapture keeps limit bytes, half of them from each end.
func newCapture(limit int) *capture {
	return &capture{headLimit: limit - limit/2, tailLimit: limit / 2}
}

// newTail keeps the last bytes only.
func newTail(limit int) *capture { return &capture{tailLimit: limit} }

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken {
		return n, nil
	}
	if room := c.headLimit - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*c.tailLimit {
		c.cut()
	}
	return n, nil
}

func (c *capture) cut() {
	if over := len(c.tail) - c.tailLimit; over > 0 {
		c.dropped += int64(over)
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// output gives what was kept. What is written afterwards is lost.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = true
	c.cut()
	if c.dropped == 0 {
		return Output{Head: append(c.head, c.tail...)}
	}
	return Output{Head: c.head, Tail: c.tail, Dropped: c.dropped}
}
