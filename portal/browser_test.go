//go:build integration

package portal_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

var shots = flag.String("shots", "", "the folder to write screenshots of the page to")

// policy is the one that portal/serve sends.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// site serves a view as portal/serve would.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	view portal.View
	live bool
	down bool
	hits int
	at   time.Time // of the observation
}

func serve(t *testing.T, view portal.View, live bool) *site {
	s := &site{view: view, live: live, at: time.Now()}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path != "/" {
			http.StripPrefix("/assets/", http.FileServerFS(portal.Assets())).ServeHTTP(w, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hits++
		if s.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		lang := portal.English
		if strings.HasPrefix(r.Header.Get("Accept-Language"), "fr") || r.URL.Query().Get("lang") == "fr" {
			lang = portal.French
		}
		s.view.ObservedAt = s.at
		var b strings.Builder
		if !assert.NoError(t, portal.Page(&b, &s.view, portal.PageOptions{Lang: lang, Live: s.live})) {
			return
		}
		etag := fmt.Sprintf(`"%x"`, len(b.String())*31+strings.Count(b.String(), "1"))
		w.Header().Set("ETag", etag)
		w.Header().Set(portal.ObservedAtHeader, time.Now().UTC().Format(time.RFC3339))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, b.String())
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) change(f func(*portal.View)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.view)
}

// tab is a page of a browser.
type tab struct {
	*testing.T
	ctx context.Context
}

// open starts a browser with one tab. Whatever the page complains of fails the
// test, but for what tolerate says.
func open(t *testing.T, tolerate ...string) *tab {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("NOT RUN: no chromium; install it with bench/install.sh")
		}
		t.Skip("NOT RUN: no chromium; install it with bench/install.sh")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 900))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t, ctx}
	console, dialogs := chromedp.Console(ctx), chromedp.Events(ctx, page.JavascriptDialogOpening)
	var mu sync.Mutex
	var complaints []string
	complain := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		for _, known := range tolerate {
			if strings.Contains(text, known) {
				return
			}
		}
		complaints = append(complaints, text)
	}
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			complain(m.String())
		}
	}()
	go func() {
		for d, err := range dialogs {
			if err != nil {
				return
			}
			complain("dialog: " + d.Message)
		}
	}()
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		assert.Empty(t, complaints, "what the browser complained of")
	})
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, steps...))
}

func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	require.NoError(b, err)
	return result
}

func eval[R any](b *tab, expression string) R {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[R](expression, chromedp.EvalAwaitPromise))
	require.NoError(b, err)
	return value
}

// eventually waits until the expression is true.
func (b *tab) eventually(expression, why string) {
	b.Helper()
	require.Eventually(b, func() bool { return eval[bool](b, expression) }, 20*time.Second, 100*time.Millisecond, why)
}

func (b *tab) visit(url string) {
	b.Helper()
	b.do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#q")))
}

func (b *tab) scheme(scheme string) {
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// shot writes a screenshot where -shots says so.
func (b *tab) shot(name string) {
	if *shots == "" {
		return
	}
	time.Sleep(200 * time.Millisecond) // the page's transitions
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644))
}

// shown gives the ids of the entries that can be seen.
func (b *tab) shown() []string {
	b.Helper()
	return eval[[]string](b, `[...document.querySelectorAll(".entry")].filter(e => e.getClientRects().length).map(e => e.dataset.id)`)
}

const sideways = `document.documentElement.scrollWidth > innerWidth`

func TestBrowser_Screens(t *testing.T) {
	healthy := judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"})
	troubled := judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"})
	stale := judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"}, staleSince(observed))
	b := open(t)
	site := serve(t, healthy, true)
	b.scheme("light")
	b.visit(site.URL)
	assert.False(t, eval[bool](b, sideways))
	b.shot("light")

	site.change(func(v *portal.View) { *v = troubled })
	light := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	b.scheme("dark")
	b.visit(site.URL)
	assert.NotEqual(t, light, eval[string](b, `getComputedStyle(document.body).backgroundColor`))
	b.shot("dark")

	b.scheme("light")
	eval[any](b, `document.querySelector("[data-key='l-extra']").scrollIntoView()`)
	b.shot("extra")

	b.visit(site.URL + "/?lang=fr")
	assert.Equal(t, "fr", eval[string](b, `document.documentElement.lang`))
	eval[any](b, `document.querySelector("[data-key='e-dagster']").scrollIntoView({block: "center"})`)
	b.do(chromedp.Click(chromedp.CSS("[data-key='e-dagster'] summary")))
	b.shot("french")

	site.change(func(v *portal.View) { *v = stale })
	b.visit(site.URL)
	assert.True(t, eval[bool](b, `document.querySelector(".banner.warn").getClientRects().length > 0`))
	b.shot("stale")
	site.change(func(v *portal.View) { *v = troubled })

	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 2, Mobile: true})
	b.visit(site.URL)
	eval[any](b, `document.querySelectorAll("details").forEach(d => d.open = true)`)
	assert.False(t, eval[bool](b, sideways), "a phone scrolls down only")
	assert.Empty(t, eval[[]string](b, `[...document.querySelectorAll("main *, header *")].filter(e => e.getClientRects().length && !e.classList.contains("sr") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))`), "nothing is cut")
	eval[any](b, `document.querySelectorAll("details").forEach(d => d.open = false)`)
	b.shot("phone")
}
