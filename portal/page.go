package portal

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PageOptions is how a view is shown.
type PageOptions struct {
	Lang Lang // English where it is none of ours
	// Live has the page's script ask for the page's own address again each
	// second, with If-None-Match, and put what changed in its place. Of any
	// answer, a 304 included, it reads the header ObservedAtHeader.
	Live bool
	// Inline puts style and script into the page, for a file that is opened
	// without a server. The page then needs no other file; it cannot be served
	// under a policy that forbids inline scripts.
	Inline bool
	// Assets is the path that styles and scripts are served under, with a
	// trailing slash; "assets/" where it is empty.
	Assets string
}

// ObservedAtHeader is the header of an answer that says, in RFC 3339, when the
// cluster last gave a sign of life. It spares a server a new page, and so a new
// ETag, where only the time moved.
const ObservedAtHeader = "Nestor-Observed-At"

//go:embed assets
var assets embed.FS

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Assets holds what the page refers to under PageOptions.Assets: portal.css,
// portal.js and icon.svg.
func Assets() fs.FS {
	sub, err := fs.Sub(assets, "assets")
	if err != nil {
		return assets // "assets" is a valid path: it cannot fail
	}
	return sub
}

// Page writes the view as a page of HTML that is complete without a script.
// It writes the whole page or nothing.
func Page(w io.Writer, v *View, o PageOptions) error {
	return (&Printer{Options: o}).Page(w, v)
}

// Printer writes the pages of one view after another, and makes anew only the
// entries that have changed since the page of before. It is for one goroutine
// at a time.
type Printer struct {
	Options PageOptions
	entries map[string]template.HTML // of the last page, by what they show
}

// Page writes the page of a view, as the function Page does.
func (r *Printer) Page(w io.Writer, v *View) error {
	p := &page{View: v, PageOptions: r.Options, before: r.entries, entries: map[string]template.HTML{}}
	if !slices.Contains(Languages(), p.Lang) {
		p.Lang = English
	}
	if p.Assets == "" {
		p.PageOptions.Assets = "assets/"
	}
	p.group()
	if err := p.write(); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	r.entries = p.entries
	_, err := w.Write(b.Bytes())
	return err
}

// page is what the template reads.
type page struct {
	*View
	PageOptions
	Groups   []group
	Filters  []filter
	Problems int // what somebody has to look at

	before, entries map[string]template.HTML
}

type group struct {
	Name, Title, Explain string
	Items                []item
	Entries              template.HTML // the items, written
	Apart, Folded        bool
}

type filter struct {
	Value, Class, Word string
	Count              int
}

// item is an entry in the page's language.
type item struct {
	Entry
	page *page
	// unpromised entries are of no endpoint: the object's name is theirs.
	unpromised bool
}

// T gives a phrase in the page's language.
func (p *page) T(key string, args ...any) (string, error) {
	if _, ok := catalogue[phrase(key)]; !ok {
		return "", fmt.Errorf("the catalogue has no phrase %q", key)
	}
	return say(phrase(key), args...).In(p.Lang), nil
}

// say is T for phrases of the code, which a test holds against the catalogue.
func (p *page) say(key phrase, args ...any) string { return say(key, args...).In(p.Lang) }

// Languages are those to switch to: none without a server to ask.
func (p *page) Languages() []Lang {
	if p.Inline {
		return nil
	}
	return Languages()
}

// At is the time of the observation for programs, AtText for people.
func (p *page) At() string        { return p.ObservedAt.UTC().Format(time.RFC3339) }
func (p *page) AtText() string    { return clock(p.ObservedAt) }
func (p *page) Since() string     { return p.StaleSince.UTC().Format(time.RFC3339) }
func (p *page) SinceText() string { return clock(*p.StaleSince) }

// Unread tells whether nothing at all was read yet.
func (p *page) Unread() bool { return p.ObservedAt.IsZero() }

// Unreadable says what could not be read, for the banner. Stale sources have
// one of their own, and what was not asked for is no alarm.
func (p *page) Unreadable() []string {
	var all []string
	for _, s := range p.Sources {
		if s.State == Denied || s.State == Unsynced {
			all = append(all, lacking(s.Resource, s.Source).In(p.Lang))
		}
	}
	return all
}

// state is the state of a source, Synced where the view has no complaint.
func (p *page) state(r Resource) SourceState {
	for _, s := range p.Sources {
		if s.Resource == r {
			return s.State
		}
	}
	return Synced
}

// Closing is what the page ends with: what it is sure of about extras.
func (p *page) Closing() string {
	has := func(name string) bool {
		return slices.ContainsFunc(p.Layers, func(l Layer) bool { return l.Name == name })
	}
	var all []string
	if len(p.Layers) == 0 && p.state(Services) == Synced {
		all = append(all, p.say("no-endpoints"))
	}
	if p.state(Services) == Synced && !has(ExtraLayer) {
		all = append(all, p.say("no-extra"))
	}
	if p.state(Pods) == NotAsked {
		all = append(all, p.say("pods-not-asked"))
	}
	return strings.Join(all, " ")
}

// filterOrder is the order of the verdicts among the filters: what needs
// somebody comes first.
var filterOrder = []Verdict{Missing, Drift, Extra, Unknown, Match, NotExpected}

func (p *page) group() {
	count, total := map[Verdict]int{}, 0
	for _, layer := range p.Layers {
		g := group{Name: layer.Name, Title: layer.Name, Apart: layer.Name == ExtraLayer || layer.Name == SystemLayer, Folded: layer.Name == SystemLayer}
		switch layer.Name {
		case ExtraLayer:
			g.Title, g.Explain = p.say("layer-extra"), p.say("explain-extra")
		case SystemLayer:
			g.Title, g.Explain = p.say("layer-system"), p.say("explain-system")
		case OtherLayer:
			g.Title = p.say("layer-other")
		}
		for _, e := range layer.Entries {
			g.Items = append(g.Items, item{e, p, g.Apart})
			if layer.Name == SystemLayer {
				continue // it is nobody's promise
			}
			count[e.Verdict]++
			total++
			if e.Verdict == Missing || e.Verdict == Drift || e.Verdict == Extra {
				p.Problems++
			}
		}
		p.Groups = append(p.Groups, g)
	}
	if total == 0 {
		return
	}
	p.Filters = append(p.Filters, filter{"all", "", p.say("all"), total})
	for _, v := range filterOrder {
		if count[v] > 0 {
			p.Filters = append(p.Filters, filter{class(v), class(v), p.say(phrase("verdict-" + class(v))), count[v]})
		}
	}
}

// write writes the entries of each group.
func (p *page) write() error {
	for i := range p.Groups {
		var all strings.Builder
		for _, item := range p.Groups[i].Items {
			html, err := item.html()
			if err != nil {
				return err
			}
			all.WriteString(string(html))
		}
		p.Groups[i].Entries = template.HTML(all.String()) // the template has escaped it
	}
	return nil
}

// class is a verdict as the style sheet and the catalogue call it.
func class(v Verdict) string { return strings.ToLower(string(v)) }

// html is the entry on the page: that of the page of before, where it is the
// same.
func (i item) html() (template.HTML, error) {
	content, err := json.Marshal(i.Entry)
	if err != nil {
		return "", err
	}
	key := string(i.page.Lang) + strconv.FormatBool(i.unpromised) + string(content)
	html, ok := i.page.before[key]
	if !ok {
		var b strings.Builder
		if err := pageTemplate.ExecuteTemplate(&b, "entry", i); err != nil {
			return "", err
		}
		html = template.HTML(b.String()) // the template has escaped it
	}
	i.page.entries[key] = html
	return html, nil
}

func (i item) T(key string, args ...any) (string, error) { return i.page.T(key, args...) }

func (i item) Class() string { return class(i.Verdict) }

func (i item) Word() string { return i.page.say(phrase("verdict-" + class(i.Verdict))) }

// Name is the endpoint's id; for what nobody promised, the object's name.
func (i item) Name() string {
	if i.unpromised {
		return i.Where()
	}
	return i.ID
}

// Where names the object in its namespace.
func (i item) Where() string { return strings.Trim(i.Entry.Namespace+"/"+i.Entry.Name, "/") }

// Code is the verdict and the reason as programs see them.
func (i item) Code() string { return strings.TrimSpace(string(i.Verdict) + " " + string(i.Reason)) }

// Why is the reason in words.
func (i item) Why() string {
	if i.Reason == "" {
		return ""
	}
	if i.Reason == SourceStale && len(i.Entry.Evidence) > 0 {
		return i.Evidence()[0] // what it was, which says more
	}
	return i.page.say(phrase("reason-" + string(i.Reason)))
}

// Evidence is the evidence in words.
func (i item) Evidence() []string {
	var all []string
	for _, t := range i.Entry.Evidence {
		all = append(all, t.In(i.page.Lang))
	}
	return all
}

// Shown is the URL without what every URL has.
func (i item) Shown() string {
	return strings.TrimSuffix(strings.TrimPrefix(i.URL, "http://"), "/")
}

// NoLogin says that nothing is asked at the door, or that a token is.
func (i item) NoLogin() string {
	switch {
	case i.Login != "" || i.URL == "":
		return ""
	case i.Auth == "none":
		return i.page.say("login-none")
	case i.Auth == "token":
		return i.page.say("login-token")
	}
	return ""
}

// copyButton copies a text. Word is what it shows beside its icon.
type copyButton struct{ Text, Label, Icon, Word string }

func (i item) CopyURL() copyButton {
	return copyButton{i.URL, i.page.say("copy-url", i.Name()), "copy", ""}
}

func (i item) CopyKey() copyButton {
	return copyButton{i.Command, i.page.say("copy-password", i.Name()), "key", i.page.say("password")}
}

func (i item) CopyCommand() copyButton {
	return copyButton{i.Command, i.page.say("copy-password", i.Name()), "copy", ""}
}

func (i item) CopyRemedy() copyButton {
	return copyButton{i.Remedy, i.page.say("copy-remedy", i.Name()), "copy", ""}
}

// What an inline page holds instead of referring to it. The files are ours.

func (p *page) Style() template.CSS { return template.CSS(asset("portal.css")) }
func (p *page) Script() template.JS { return template.JS(asset("portal.js")) }
func (p *page) Icon() template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(asset("icon.svg"))))
}

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return "" // embedded: it cannot fail
	}
	return string(b)
}
