package serve

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

// Who has read a page, if only to hear that it has not changed, finds the next
// one made, for its host and in its language.
func TestAnEditionIsMadeForItsReaders(t *testing.T) {
	cluster := newFake(shop(30080))
	s, _ := serving(t, cluster, Options{})
	for _, host := range []string{"192.0.2.12", "node2"} {
		first := ask(s, "GET", "/?lang=fr", "Host", host)
		assert.Equal(t, http.StatusNotModified, ask(s, "GET", "/?lang=fr", "Host", host, "If-None-Match", first.Header.Get("ETag")).StatusCode)
	}
	next := shop(31999)
	cluster.set(next)
	require.Eventually(t, func() bool { return s.edition.Load().snapshot == next }, 20*time.Second, 10*time.Millisecond)
	e := s.edition.Load()
	for _, host := range []string{"192.0.2.12", "node2"} {
		require.NotNil(t, e.made(host), host)
		assert.Contains(t, string(e.made(host).printed(portal.French)), "http://"+host+":31999")
		assert.Nil(t, e.made(host).printed(portal.English), "nobody reads it")
	}
	assert.Nil(t, e.made("node1"), "nobody came by it")
	for _, lang := range portal.Languages() {
		assert.NotNil(t, e.whole().printed(lang), "whoever comes first does not wait")
	}

	// While something is being made, what is made is there.
	e.making.Lock()
	defer e.making.Unlock()
	answered := make(chan int, 3)
	go func() {
		for _, target := range []string{"/?lang=fr", "/api/v1/view", "/go/web-ui"} {
			answered <- ask(s, "GET", target, "Host", "node2").StatusCode
		}
	}()
	for _, want := range []int{200, 200, 302} {
		select {
		case code := <-answered:
			assert.Equal(t, want, code)
		case <-time.After(20 * time.Second):
			require.Fail(t, "a request waits for what others asked for")
		}
	}
}

// Whoever waits the longest for a request makes room, and nobody else.
func TestConnectionsMakeRoom(t *testing.T) {
	c := connections{most: 2, open: map[net.Conn]*list.Element{}}
	closed := func(conn net.Conn) bool {
		if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			return true // of a pipe whose other end is closed
		}
		_, err := conn.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	var theirs []net.Conn
	open := func() net.Conn {
		ours, other := net.Pipe()
		theirs = append(theirs, other)
		t.Cleanup(func() { _, _ = ours.Close(), other.Close() })
		c.state(ours, http.StateNew)
		return ours
	}
	busy := open()
	c.state(busy, http.StateActive)
	open()
	open()
	assert.Equal(t, []bool{false, true, false}, []bool{closed(theirs[0]), closed(theirs[1]), closed(theirs[2])})
	c.state(busy, http.StateIdle)
	open()
	assert.Equal(t, []bool{false, true, false}, []bool{closed(theirs[0]), closed(theirs[2]), closed(theirs[3])}, "the busy one has just been served")
	c.state(busy, http.StateClosed)
	n, made := c.counts()
	assert.Equal(t, []int{1, 2}, []int{n, made})
}

func TestReadersAreForgotten(t *testing.T) {
	var r readers
	now := time.Now()
	r.saw(reader{"a", portal.French}, now)
	r.saw(reader{"b", ""}, now.Add(time.Second))
	assert.Equal(t, []reader{{"b", ""}}, r.since(now.Add(time.Millisecond)))
	for i := range 10 * mostHosts {
		r.saw(reader{fmt.Sprint(i), ""}, now.Add(time.Minute))
		r.saw(reader{"b", ""}, now.Add(time.Minute+time.Second))
	}
	assert.Len(t, r.since(now), mostHosts)
	assert.Contains(t, r.since(now), reader{"b", ""}, "who asks now and then does not lose its place")
}
