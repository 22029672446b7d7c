// What the page gains with a script: search, keys, copying, and staying true
// without a reload. All of it is there without one, but for these.
(function () {
  "use strict";
  var doc = document, root = doc.documentElement, body = doc.body;
  var search = doc.getElementById("q"), silent = doc.getElementById("silent");
  var found = doc.getElementById("found"), said = doc.getElementById("said"), nothing = doc.getElementById("nothing");
  var lang = root.lang;

  function each(selector, f) { Array.prototype.forEach.call(doc.querySelectorAll(selector), f); }
  function plain(text) { return text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, ""); }
  function on(target, name, f) { target.addEventListener(name, f); }

  // -- search: every word must be somewhere in the entry
  function filter() {
    var words = plain(search.value).split(/\s+/).filter(Boolean), shown = 0, all = 0;
    each("section", function (section) {
      var some = false;
      section.querySelectorAll(".entry").forEach(function (entry) {
        var text = words.length ? plain(entry.textContent) : "";
        var hit = words.every(function (w) { return text.indexOf(w) >= 0; });
        entry.hidden = !hit;
        all++;
        if (hit) { some = true; shown++; }
      });
      section.hidden = !some;
      var fold = section.querySelector(":scope > details");
      if (fold && words.length && some && !fold.open) fold.open = fold.unfolded = true;
      if (fold && !words.length && fold.unfolded) fold.open = fold.unfolded = false;
    });
    nothing.hidden = shown > 0 || all === 0;
    var text = words.length ? body.dataset.found.replace("{n}", shown).replace("{all}", all) : "";
    if (found.textContent !== text) found.textContent = text;
  }

  // -- copying: on http://<node>:<port> there is no clipboard API
  function copy(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    return new Promise(function (done, failed) {
      var area = doc.createElement("textarea"), had = doc.activeElement;
      area.value = text;
      area.className = "sr";
      area.readOnly = true;
      body.appendChild(area);
      area.select();
      var ok = doc.execCommand("copy");
      area.remove();
      if (had) had.focus({ preventScroll: true });
      if (ok) done(); else failed(new Error("copy"));
    });
  }
  on(doc, "click", function (event) {
    var button = event.target.closest && event.target.closest("button.copy");
    if (!button) return;
    copy(button.dataset.copy).then(function () {
      said.textContent = "";
      button.classList.add("done");
      button.firstElementChild.firstElementChild.setAttribute("href", "#i-match");
      said.textContent = body.dataset.copied;
      setTimeout(function () {
        button.classList.remove("done");
        button.firstElementChild.firstElementChild.setAttribute("href", "#i-" + button.dataset.icon);
      }, 1400);
    }, function () { window.prompt("", button.dataset.copy); });
  });

  // -- keys
  var slash = false;
  function visible(e) { return e.checkVisibility ? e.checkVisibility() : e.getClientRects().length > 0; }
  function entries() { return Array.prototype.filter.call(doc.querySelectorAll(".entry"), visible); }
  function current() { var e = doc.activeElement; return e && e.closest ? e.closest(".entry") : null; }
  function move(step) {
    var list = entries(), at = list.indexOf(current());
    var next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, at + step))];
    if (!next) return;
    (next.querySelector("h3 a") || next.querySelector("summary")).focus();
    next.scrollIntoView({ block: "nearest" });
  }
  on(doc, "keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    var typing = event.target === search, entry = current();
    if (event.key === "Escape") {
      if (typing && !search.value) search.blur();
      search.value = "";
      filter();
    } else if (typing) {
      if (event.key === "/" && !search.value) slash = true; // it is there already
      else if (event.key === "ArrowDown") move(1);
      else if (event.key === "Enter") { var first = entries()[0], a = first && first.querySelector("h3 a"); if (a) a.focus(); }
      else return;
    } else if (event.key === "/") { slash = true; search.focus(); search.select(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "c" && entry && entry.querySelector(".url .copy")) entry.querySelector(".url .copy").click();
    else if (event.key === "e" && entry) { var d = entry.querySelector("details"); d.open = !d.open; }
    else return;
    event.preventDefault();
  });
  // The key that leads to the search is not a letter of it, although some
  // browsers send it on to where the focus went.
  on(doc, "keypress", function (event) { if (slash && event.key === "/") event.preventDefault(); slash = false; });
  on(doc, "keyup", function () { slash = false; });
  on(doc.querySelector("form.tools"), "submit", function (event) { event.preventDefault(); });
  on(search, "input", filter);

  // -- what needs a script appears with it
  function dress(scope) {
    scope.querySelectorAll("button.copy").forEach(function (b) {
      b.hidden = false;
      if (!b.dataset.icon) b.dataset.icon = b.querySelector("use").getAttribute("href").slice(3);
    });
    scope.querySelectorAll("time[data-local]").forEach(function (t) {
      t.textContent = new Date(t.dateTime).toLocaleString(lang, { dateStyle: "medium", timeStyle: "medium" });
    });
  }
  doc.querySelector(".search").hidden = false;
  doc.querySelector(".keys").hidden = false;
  dress(doc);
  if (search.value) filter(); // a reload keeps what was typed
  if (!root.hasAttribute("data-live")) return;

  // -- staying true: the page asks for itself
  var etag = "", skew = 0, observed = 0, answered = Date.now(), failures = 0, timer = 0, asking = false;
  var relative = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "short" });

  function ago() {
    var time = doc.getElementById("age");
    if (!time) return;
    if (!observed) observed = Date.parse(time.dateTime);
    var s = Math.max(0, Math.round((Date.now() + skew - observed) / 1000));
    var text = s < 5 ? body.dataset.now : s < 90 ? relative.format(-s, "second") : s < 5400 ? relative.format(-Math.round(s / 60), "minute")
      : s < 129600 ? relative.format(-Math.round(s / 3600), "hour") : relative.format(-Math.round(s / 86400), "day");
    if (time.textContent !== text) time.textContent = text;
    time.title = new Date(observed).toLocaleString(lang);
  }

  function key(node) { return node.nodeType === 1 ? node.getAttribute("data-key") || node.id : ""; }
  // What the reader did is the reader's: an open fold, a word typed, a filter.
  function kept(name, e) { return name === "open" || name === "hidden" || (name === "checked" && e.localName === "input"); }
  function morph(from, to) {
    if (from.nodeType !== 1) { if (from.data !== to.data) from.data = to.data; return; }
    Array.prototype.slice.call(from.attributes).forEach(function (a) { if (!to.hasAttribute(a.name) && !kept(a.name, from)) from.removeAttribute(a.name); });
    Array.prototype.forEach.call(to.attributes, function (a) { if (from.getAttribute(a.name) !== a.value && !kept(a.name, from)) from.setAttribute(a.name, a.value); });
    var byKey = {}, at = from.firstChild;
    Array.prototype.forEach.call(from.childNodes, function (n) { if (key(n)) byKey[" " + key(n)] = n; });
    Array.prototype.slice.call(to.childNodes).forEach(function (wanted) {
      var k = key(wanted), same = k ? byKey[" " + k] : at && !key(at) && at.nodeType === wanted.nodeType && at.nodeName === wanted.nodeName ? at : null;
      if (k) delete byKey[" " + k]; // a contract may give an id twice
      if (same && same.nodeName === wanted.nodeName) {
        if (same === at) at = at.nextSibling; else from.insertBefore(same, at);
        morph(same, wanted);
      } else {
        from.insertBefore(doc.importNode(wanted, true), at);
      }
    });
    while (at) { var next = at.nextSibling; from.removeChild(at); at = next; }
  }

  function digest() {
    var all = {};
    each(".entry", function (e) { all[e.dataset.id] = e.querySelector(".verdict span").textContent + " " + ((e.querySelector("h3 a") || {}).href || ""); });
    return all;
  }

  function replace(text) {
    var fresh = new DOMParser().parseFromString(text, "text/html"), main = fresh.getElementById("entries");
    if (!main) return false;
    var before = digest(), had = doc.activeElement, words = [];
    dress(fresh);
    ["head > title", "header .age", ".banners", "form.tools fieldset", "main"].forEach(function (selector) {
      var from = doc.querySelector(selector), to = fresh.querySelector(selector);
      if (from && to) morph(from, to);
      else if (to && selector === "form.tools fieldset") doc.querySelector("form.tools").insertBefore(doc.importNode(to, true), found);
      else if (from && !to) from.remove();
    });
    if (!doc.querySelector("[name=v]:checked")) { var whole = doc.querySelector("[name=v][value=all]"); if (whole) whole.checked = true; }
    filter();
    if (had && had !== doc.activeElement && had.isConnected) had.focus({ preventScroll: true });
    var after = digest();
    each(".entry", function (e) {
      var id = e.dataset.id;
      if (before[id] === after[id]) return;
      e.classList.remove("changed");
      void e.offsetWidth;
      e.classList.add("changed");
      words.push(e.querySelector("h3").textContent + ": " + e.querySelector(".verdict span").textContent);
    });
    if (words.length) said.textContent = words.slice(0, 5).join(". ");
    observed = 0;
    return true;
  }

  function quiet(failed) {
    failures = failed ? failures + 1 : 0;
    if (!failed) answered = Date.now();
    body.classList.toggle("stale-page", failures > 1);
    if (failures === 2) silent.querySelector("time").textContent = new Date(answered).toLocaleTimeString(lang);
    silent.hidden = failures < 2;
  }

  function ask() {
    clearTimeout(timer);
    if (asking || doc.hidden) return;
    asking = true;
    var abort = new AbortController(), limit = setTimeout(function () { abort.abort(); }, 5000);
    fetch(location.pathname + location.search, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store", credentials: "same-origin", redirect: "error", signal: abort.signal })
      .then(function (response) {
        if (response.status !== 304 && !response.ok) throw new Error(response.status);
        var date = Date.parse(response.headers.get("Date")), seen = Date.parse(response.headers.get("Nestor-Observed-At"));
        if (date) skew = date - Date.now();
        return (response.status === 304 ? Promise.resolve(null) : response.text()).then(function (text) {
          if (text !== null) {
            if (!replace(text)) throw new Error("another page");
            etag = response.headers.get("ETag") || "";
          }
          if (seen) observed = seen;
          quiet(false);
        });
      })
      .catch(function () { quiet(true); })
      .then(function () {
        clearTimeout(limit);
        asking = false;
        ago();
        timer = setTimeout(ask, 1000);
      });
  }
  on(doc, "visibilitychange", ask);
  setInterval(ago, 1000);
  ago();
  timer = setTimeout(ask, 1000);
})();
