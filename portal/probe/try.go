package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// maxAnswer bounds what is read of an answer, its head included.
const maxAnswer = 64 << 10

// try makes one attempt and, where that fails in a way that a wrong scheme
// would explain, one with the other scheme.
func try(ctx context.Context, r *Result, timeout time.Duration) {
	u, err := url.Parse(r.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		r.Kind, r.Message = NotExposed, "its address is no URL of a web page"
		return
	}
	spoken := attempt(ctx, r, u, timeout)
	if u.Scheme == "https" && spoken {
		return
	}
	switch r.Kind {
	case Reset, Closed, Silent, NotHTTP, TLSFailed:
	case BadStatus:
		if r.Status != http.StatusBadRequest || u.Scheme != "http" {
			return
		}
	default:
		return
	}
	other := *u
	other.Scheme = map[string]string{"http": "https", "https": "http"}[u.Scheme]
	second := Result{}
	spoken = attempt(ctx, &second, &other, timeout)
	// A port for TLS turns HTTP down with 400: that is not to speak HTTP.
	if spoken || other.Scheme == "http" && second.Status != 0 && second.Status != http.StatusBadRequest {
		r.Kind, r.TLS = WrongScheme, second.TLS
		r.Message = fmt.Sprintf("the port speaks %s, and %s is promised", other.Scheme, u.Scheme)
		if r.Status != 0 {
			r.Message += fmt.Sprintf(" (HTTP %d)", r.Status)
		}
		r.Hints = append(r.Hints, "write scheme: "+other.Scheme+" in the contract, or mend the server")
	}
}

// attempt connects, and asks for the page. It tells whether the server speaks
// TLS, if only to refuse it.
func attempt(ctx context.Context, r *Result, u *url.URL, timeout time.Duration) (speaksTLS bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begin := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		r.Kind, r.Message = connecting(err, u.Host, timeout)
		return false
	}
	defer conn.Close()
	r.ConnectMS = milliseconds(begin)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends what is under way
	defer stop()

	if u.Scheme == "https" {
		secure := tls.Client(conn, tlsConfig(u.Hostname()))
		if err := secure.HandshakeContext(ctx); err != nil {
			r.Kind, r.Message, speaksTLS = handshaking(err, timeout)
			return speaksTLS
		}
		speaksTLS = true
		r.TLS = factsOf(secure.ConnectionState(), u.Hostname(), time.Now())
		conn = secure
	}
	response, err := ask(ctx, conn, u)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // half a line would be no HTTP
		}
		r.Kind, r.Message = asking(err, timeout)
		return speaksTLS
	}
	// Its body is left unread: to close it would wait for the end of a stream.
	r.TotalMS = milliseconds(begin)
	r.Status = response.StatusCode
	judge(r, response, u)
	return speaksTLS
}

// ask sends one request and reads the head of the answer.
func ask(ctx context.Context, conn net.Conn, u *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.URL.User = nil
	request.Header.Set("User-Agent", "nestor-probe")
	request.Header.Set("Accept", "text/html, */*")
	request.Close = true
	if err := request.Write(conn); err != nil && !broken(err) { // one that was broken off may have answered first
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxAnswer}
	reader := bufio.NewReader(limited)
	for {
		response, err := http.ReadResponse(reader, request)
		if err != nil && limited.N <= 0 {
			return nil, fmt.Errorf("its head is longer than %d KiB", maxAnswer>>10)
		}
		if err != nil || response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	} // 1xx: the answer follows
}

// judge says whether an answer is a page that a person can use.
func judge(r *Result, response *http.Response, u *url.URL) {
	status := response.StatusCode
	switch {
	case status < 200:
		r.Kind, r.Message = NotHTTP, fmt.Sprintf("HTTP %d is no page", status)
	case status < 300:
		r.State = Reachable
	case status < 400:
		r.State = Reachable
		redirect(r, response, u)
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		r.State, r.Message = Reachable, "it wants to know who asks"
	default:
		r.Kind, r.Message = BadStatus, fmt.Sprintf("it answers with HTTP %d %s", status, http.StatusText(status))
		switch status {
		case http.StatusNotFound:
			r.Hints = append(r.Hints, "where the UI is not at this path, write path: in the contract")
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			r.Hints = append(r.Hints, "what answers stands before the UI, which does not")
		}
	}
}

func redirect(r *Result, response *http.Response, u *url.URL) {
	location, err := response.Location()
	if err != nil {
		return // 304 and the like
	}
	location.User = nil
	r.Redirect = oneLine(location.String())
	r.Message = "it redirects"
	switch {
	case location.Scheme != "http" && location.Scheme != "https":
		r.Hints = append(r.Hints, "it redirects to what is no web page")
	case location.Hostname() != u.Hostname():
		r.Hints = append(r.Hints, "it redirects to another host, which was not tried: "+oneLine(location.Host))
	case location.Host != u.Host:
		r.Hints = append(r.Hints, "it redirects to another port of the node, which was not tried: "+oneLine(location.Host))
	}
}

// broken tells that the other side ended the connection.
func broken(err error) bool {
	kind, _ := asking(err, 0)
	return kind == Reset || kind == Closed
}

func milliseconds(begin time.Time) float64 {
	return float64(time.Since(begin).Microseconds()) / 1000
}

// oneLine makes a line of what a stranger wrote.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > 300 {
		return string(runes[:300]) + "..."
	}
	return s
}
