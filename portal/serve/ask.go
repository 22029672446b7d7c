package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/portal"
)

// hostOf gives the host of a request without its port, as it may be compared;
// "" where there is none or it is malformed.
func hostOf(r *http.Request) string {
	host := r.Host
	if name, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return ""
		}
		host = name
		if strings.Contains(name, ":") {
			host = "[" + name + "]"
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if ip, err := netip.ParseAddr(inner); !ok || err != nil || !ip.Is6() || ip.Zone() != "" {
			return ""
		}
		return inner
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// believable tells whether a page that someone else wrote can have made the
// browser send this host. It can with a name of its own, that it then lets
// point here (DNS rebinding); it cannot with an address.
func believable(host string, known func(string) bool) bool {
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return true
	}
	return host != "" && known(host)
}

// language chooses from the closed list: ?lang= first, then Accept-Language.
func language(r *http.Request) portal.Lang {
	ours := portal.Languages()
	asked := r.URL.Query().Get("lang")
	for _, l := range ours {
		if string(l) == asked {
			return l
		}
	}
	best, most := ours[0], 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, parameter, _ := strings.Cut(part, ";")
		primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		quality := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			quality, _ = strconv.ParseFloat(q, 64) // 0 where it is none
		}
		for _, l := range ours {
			if string(l) == primary && quality > most && quality <= 1 {
				best, most = l, quality
			}
		}
	}
	return best
}

// unchanged tells whether the client has what etag names (RFC 9110, 13.1.2).
func unchanged(r *http.Request, etag string) bool {
	for part := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
