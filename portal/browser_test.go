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

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/contract"
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
		sign := time.Now()
		if s.view.StaleSince != nil {
			sign = *s.view.StaleSince
		}
		w.Header().Set(portal.ObservedAtHeader, sign.UTC().Format(time.RFC3339))
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
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
	require.Eventually(b, func() bool { return eval[bool](b, expression) }, time.Minute, 100*time.Millisecond, why)
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
	time.Sleep(1500 * time.Millisecond) // the page's transitions, and its first look at the portal
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644))
}

// shown gives the ids of the entries that can be seen.
func (b *tab) shown() []string {
	b.Helper()
	return eval[[]string](b, `[...document.querySelectorAll(".entry")].filter(e => e.checkVisibility()).map(e => e.dataset.id)`)
}

const sideways = `document.documentElement.scrollWidth > innerWidth`

// covered lists the texts of entries that something else lies over.
const covered = `[...document.querySelectorAll(".verdict span, .why, .note, .login b")].filter(e => {
  if (!e.checkVisibility()) return false;
  e.scrollIntoView({block: "center"});
  const r = e.getClientRects()[0], at = r && document.elementFromPoint(r.left + 3, r.top + r.height / 2);
  return at && at !== e && !e.contains(at);
}).map(e => e.textContent)`

func TestBrowser_Screens(t *testing.T) {
	healthy := judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"})
	troubled := judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"})
	stale := judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"}, staleSince(observed))
	b := open(t)
	site := serve(t, healthy, true)
	b.scheme("light")
	b.visit(site.URL)
	assert.False(t, eval[bool](b, sideways))
	assert.Empty(t, eval[[]string](b, covered), "text can be selected: no link lies over it")
	eval[any](b, `scrollTo(0, 0)`)
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

func TestBrowser_SearchAndKeys(t *testing.T) {
	b := open(t)
	site := serve(t, judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}), true)
	b.visit(site.URL)
	all := b.shown()
	require.Len(t, all, 18, "the cluster's own are folded")

	b.do(chromedp.KeyEvent("/"))
	assert.Equal(t, "q", eval[string](b, `document.activeElement.id`))
	b.do(chromedp.KeyEvent("gra"))
	assert.Equal(t, []string{"grafana"}, b.shown())
	assert.Equal(t, "1 of 20 shown", eval[string](b, `document.getElementById("found").textContent`), "said to those who do not see")
	b.do(chromedp.KeyEvent("x"))
	assert.Empty(t, b.shown())
	assert.True(t, eval[bool](b, `document.getElementById("nothing").getClientRects().length > 0`))
	b.do(chromedp.KeyEvent("\x1b"))
	assert.Equal(t, all, b.shown())
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("nodeport selector"))
	assert.NotEmpty(t, b.shown(), "every word, anywhere")
	b.do(chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("\x1b"))
	assert.NotEqual(t, "q", eval[string](b, `document.activeElement.id`), "a second escape leaves")
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("kube-proxy"))
	assert.Equal(t, []string{"hostnetwork/kube-system/kube-proxy"}, b.shown(), "a search unfolds what it finds")
	b.do(chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("\x1b"))

	focused := `(document.activeElement.closest(".entry") || {dataset: {}}).dataset.id || ""`
	b.do(chromedp.KeyEvent("j"))
	assert.Equal(t, all[0], eval[string](b, focused))
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	assert.Equal(t, all[1], eval[string](b, focused))
	b.do(chromedp.KeyEvent("e"))
	assert.True(t, eval[bool](b, `document.activeElement.closest(".entry").querySelector("details").open`))

	b.do(chromedp.Click(chromedp.CSS("[data-key='f-drift']")))
	assert.Equal(t, []string{"gitea", "dagster", "mlflow"}, b.shown())
	b.do(chromedp.Click(chromedp.CSS("[data-key='f-all']")))
	assert.Len(t, b.shown(), 18)
}

func TestBrowser_Copy(t *testing.T) {
	view := judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"})
	for _, secure := range []bool{true, false} {
		t.Run(fmt.Sprintf("clipboard API %v", secure), func(t *testing.T) {
			b := open(t)
			site := serve(t, view, true)
			b.visit(site.URL)
			origin := site.URL
			for _, permission := range []string{"clipboard-read", "clipboard-write"} {
				_, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: permission}, Setting: browser.PermissionSettingGranted, Origin: origin})
				require.NoError(t, err)
			}
			eval[any](b, `window.board = navigator.clipboard`)
			if !secure { // as on http://<node>:<port>
				eval[any](b, `Object.defineProperty(navigator, "clipboard", {value: undefined, configurable: true}); 1`)
			}
			for selector, want := range map[string]string{
				"[data-key='e-grafana'] .url .copy":   "http://192.0.2.10:31217",
				"[data-key='e-grafana'] .login .copy": `kubectl -n monitoring get secret grafana-admin -o 'go-template={{index .data "admin-password" | base64decode}}{{"\n"}}'`,
				"[data-key='e-gitea'] .remedy .copy":  `kubectl -n gitea patch service gitea-web -p '{"spec":{"type":"NodePort"}}'`,
			} {
				b.do(chromedp.Click(chromedp.CSS(selector)))
				b.eventually(`document.getElementById("said").textContent === "Copied"`, "it says so")
				assert.Equal(t, want, eval[string](b, `board.readText()`))
				assert.False(t, eval[bool](b, `location.href !== "`+site.URL+`/"`), "a button is no link")
			}
		})
	}
}

func TestBrowser_Live(t *testing.T) {
	b := open(t, "503")
	healthy := judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"})
	site := serve(t, healthy, true)
	b.visit(site.URL)
	eval[any](b, `window.marker = 1; document.querySelector("[data-key='e-grafana'] details").open = true; document.querySelector("[data-key='e-mlflow'] h3 a").focus(); scrollTo(0, 150)`)
	y := eval[float64](b, `scrollY`)
	require.Positive(t, y)

	site.change(func(v *portal.View) {
		*v = judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"}, func(s *portal.Snapshot) {
			for i := range s.Services {
				if s.Services[i].Name == "grafana-nodeport" {
					s.Services[i].Ports[0].NodePort = 32000
				}
			}
		})
	})
	b.eventually(`document.querySelector("[data-key='e-grafana'] h3 a").href === "http://192.0.2.10:32000/"`, "the new port")
	assert.Equal(t, 1.0, eval[float64](b, `window.marker`), "no reload")
	assert.True(t, eval[bool](b, `document.querySelector("[data-key='e-grafana'] details").open`), "what was open stays open")
	assert.Equal(t, "mlflow", eval[string](b, `document.activeElement.closest(".entry").dataset.id`), "the focus stays")
	assert.InDelta(t, y, eval[float64](b, `scrollY`), 1, "nothing moves")
	assert.Contains(t, eval[string](b, `document.getElementById("said").textContent`), "grafana: Match")
	assert.False(t, eval[bool](b, `document.querySelector("[data-key='e-grafana'] .copy").hidden`))

	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("mlflow"))
	site.change(func(v *portal.View) { *v = judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}) })
	b.eventually(`!!document.querySelector("[data-key='e-mlflow'].v-drift")`, "the new verdict")
	assert.Equal(t, []string{"mlflow"}, b.shown(), "the search stays")
	assert.Equal(t, "mlflow", eval[string](b, `document.getElementById("q").value`))
	assert.Equal(t, "q", eval[string](b, `document.activeElement.id`))
	assert.Equal(t, "(9) Portal", eval[string](b, `document.title`))
	b.do(chromedp.KeyEvent("\x1b"))
	b.do(chromedp.Click(chromedp.CSS("[data-key='f-extra']")))
	site.change(func(v *portal.View) { *v = healthy })
	b.eventually(`!document.querySelector("[data-key='l-extra']")`, "extras go")
	assert.Len(t, b.shown(), 13, "a filter that is gone hides nothing")

	before := eval[float64](b, `performance.getEntriesByType("resource").length`)
	site.mu.Lock()
	site.down = true
	site.mu.Unlock()
	b.eventually(`!document.getElementById("silent").hidden`, "it says that the portal is silent")
	assert.Len(t, b.shown(), 13, "and stays")
	site.mu.Lock()
	site.down = false
	site.mu.Unlock()
	b.eventually(`document.getElementById("silent").hidden`, "it recovers by itself")
	assert.Positive(t, before)
}

func TestBrowser_WithoutScript(t *testing.T) {
	b := open(t)
	site := serve(t, judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}), true)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(chromedp.Navigate(site.URL), chromedp.WaitVisible(chromedp.CSS("main")))
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("main"), chromedp.NodeVisible))
	require.NoError(t, err)
	for _, want := range []string{"grafana", "192.0.2.10:31217", "admin", "dagster/redis-debug", "kubectl -n mlflow describe pods"} {
		assert.Contains(t, text, want)
	}
	b.do(chromedp.WaitNotVisible(chromedp.CSS(".search")), chromedp.WaitNotVisible(chromedp.CSS(".copy")))
	b.do(chromedp.Click(chromedp.CSS("[data-key='f-drift']")), chromedp.WaitNotVisible(chromedp.CSS("[data-key='e-grafana']")), chromedp.WaitVisible(chromedp.CSS("[data-key='e-dagster']")))
	b.do(chromedp.Click(chromedp.CSS("[data-key='e-dagster'] summary")), chromedp.WaitVisible(chromedp.CSS("[data-key='e-dagster'] dl")))
}

func TestBrowser_File(t *testing.T) {
	var page strings.Builder
	view := judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"})
	require.NoError(t, portal.Page(&page, &view, portal.PageOptions{Inline: true}))
	file := filepath.Join(t.TempDir(), "portal page.html")
	require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o600))
	b := open(t)
	b.visit("file://" + strings.ReplaceAll(file, " ", "%20"))
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("argo"))
	assert.Equal(t, []string{"argocd"}, b.shown())
	assert.NotEqual(t, "rgba(0, 0, 0, 0)", eval[string](b, `getComputedStyle(document.body).backgroundColor`), "with its style")
	assert.Zero(t, eval[int](b, `performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).length`), "it asks for nothing")
}

// Whatever the contract and the cluster say, nothing of it runs.
func TestBrowser_Hostile(t *testing.T) {
	const tag = `"><script>window.pwned=1</script><img src=x onerror=window.pwned=1><svg onload=window.pwned=1>'`
	s := newScene()
	s.c.Endpoints = append(s.c.Endpoints, contract.Endpoint{ID: tag, Service: "web", Namespace: "app", Port: 80, Exposed: true, Layer: tag, Login: tag, Note: tag, Role: tag, Auth: tag, Source: tag, Scheme: "javascript", Path: "javascript:window.pwned=1"})
	s.Services = append(s.Services, portal.Service{Namespace: tag, Name: tag, Type: "NodePort", Ports: []portal.ServicePort{{Name: tag, Port: 1, NodePort: 30001}}})
	s.Nodes[0].Name = tag
	s.Sources[portal.Pods] = portal.Source{State: portal.Unsynced, Why: tag}
	v := portal.Judge(s.c, s.Snapshot, portal.Options{})

	b := open(t)
	site := serve(t, v, true)
	b.visit(site.URL)
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("pwned"), chromedp.KeyEvent("\x1b"))
	site.change(func(v *portal.View) { v.Layers[0].Entries[0].Note = tag + tag })
	b.eventually(`document.querySelectorAll(".note")[0].textContent.length > 150`, "the live page too")
	for _, selector := range []string{"main a", "main button", "main summary"} {
		eval[any](b, `document.querySelectorAll("`+selector+`").forEach(e => { if (!e.href || e.href.startsWith("javascript")) e.click() })`)
	}
	assert.True(t, eval[bool](b, `window.pwned === undefined`))
	assert.Zero(t, eval[int](b, `document.querySelectorAll("img, main script").length`))

	var page strings.Builder
	require.NoError(t, portal.Page(&page, &v, portal.PageOptions{Inline: true})) // no policy protects this one
	file := filepath.Join(t.TempDir(), "portal.html")
	require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o600))
	b.visit("file://" + file)
	assert.True(t, eval[bool](b, `window.pwned === undefined`))
}

// What somebody hears who does not see the page.
func TestBrowser_AccessibilityTree(t *testing.T) {
	b := open(t)
	site := serve(t, judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}), true)
	b.visit(site.URL)
	type node struct{ role, name string }
	var nodes []node
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if !n.Ignored {
			nodes = append(nodes, node{text(n.Role), text(n.Name)})
		}
	}
	for _, want := range []node{
		{"heading", "Portal"}, {"main", ""}, {"searchbox", "Search"}, {"radio", "Drift 3"}, {"region", "monitoring"}, {"heading", "grafana"}, {"link", "grafana"},
		{"button", "Copy the address of grafana"}, {"button", "Copy the command that shows the password of grafana"}, {"button", "Copy the command that mends gitea"}, {"StaticText", "Drift"}, {"link", "To the list"},
	} {
		assert.Contains(t, nodes, want)
	}
	for _, n := range nodes {
		switch n.role {
		case "button", "link", "searchbox", "radio", "heading", "region":
			assert.NotEmpty(t, n.name, "a %s without a name", n.role)
		case "image", "img", "graphics-symbol":
			assert.Fail(t, "an icon is spoken", n.name)
		}
	}
}

// Each text stands out from what it is on, in both schemes: WCAG 2.2, 1.4.3.
func TestBrowser_Contrast(t *testing.T) {
	b := open(t)
	site := serve(t, judgeDump(t, "troubled.yaml", portal.Options{Profile: "local-path"}, func(s *portal.Snapshot) {
		yes := true
		s.SecretsReadable = &yes
		s.Sources[portal.Pods] = portal.Source{State: portal.Stale, Since: observed}
	}), false)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.visit(site.URL)
		eval[any](b, `document.querySelectorAll("details").forEach(d => d.open = true)`)
		assert.Empty(t, eval[[]string](b, contrast), scheme)
	}
}

// contrast lists what is fainter than 4.5 to 1. Colours are painted, so that
// whatever CSS mixed is read as it is seen.
const contrast = `(() => {
  const ctx = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
  const paint = colours => { ctx.clearRect(0, 0, 1, 1); colours.forEach(c => { ctx.fillStyle = c; ctx.fillRect(0, 0, 1, 1); }); return [...ctx.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const bad = new Set();
  document.querySelectorAll("body *").forEach(e => {
    if (!e.getClientRects().length || e.closest(".sr, svg, .skip") || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) return;
    const under = [];
    for (let p = e; p; p = p.parentElement) under.unshift(getComputedStyle(p).backgroundColor);
    const a = light(paint(under)), b = light(paint([...under, getComputedStyle(e).color]));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.add(e.className + " " + e.localName + " " + e.textContent.trim().slice(0, 20) + " " + ratio.toFixed(2));
  });
  return [...bad];
})()`
