package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func files(t *testing.T) map[string]*File {
	t.Helper()
	all, err := Files(true)
	require.NoError(t, err)
	out := map[string]*File{}
	for _, f := range all {
		out[f.Path] = f
	}
	require.Contains(t, out, "/")
	require.Contains(t, out, Prefix+"main.js")
	require.Contains(t, out, Prefix+"views/market.js")
	return out
}

func get(f *File, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, f.Path, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// The page is small: less than 250 KB when it is compressed, all files together.
func TestPageIsSmall(t *testing.T) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	for _, f := range files(t) {
		_, err := w.Write(f.raw)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	t.Logf("%d bytes compressed", b.Len())
	require.Less(t, b.Len(), 250_000)
}

func TestHeaders(t *testing.T) {
	for path, f := range files(t) {
		w := get(f, nil)
		h := w.Header()
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, f.raw, w.Body.Bytes(), path)
		require.NotEmpty(t, h.Get("Content-Type"), path)
		require.Equal(t, "no-cache", h.Get("Cache-Control"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), path)
		again := get(f, map[string]string{"If-None-Match": h.Get("ETag")})
		require.Equal(t, http.StatusNotModified, again.Code, path)
		require.Empty(t, again.Body.Bytes(), path)
		require.Equal(t, http.StatusOK, get(f, map[string]string{"If-None-Match": `"other"`}).Code, path)

		directives := map[string]string{}
		for _, d := range strings.Split(h.Get("Content-Security-Policy"), ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), " ")
			directives[name] = value
		}
		require.Equal(t, map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "font-src": "'self'", "connect-src": "'self'", "base-uri": "'none'",
			"form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "'none'",
		}, directives, path)
	}
	kinds := files(t)
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", Prefix + "main.js": "text/javascript; charset=utf-8", Prefix + "page.css": "text/css; charset=utf-8", Prefix + "icon.svg": "image/svg+xml",
	} {
		require.Equal(t, want, get(kinds[path], nil).Header().Get("Content-Type"))
	}
}

var (
	// foreign are addresses of other hosts. The name space of SVG is a name, which nobody asks.
	foreign = regexp.MustCompile(`(?i)(https?:|wss?:|["'(=]\s*)//`)
	names   = strings.NewReplacer(`xmlns="http://www.w3.org/2000/svg"`, "", `createElementNS('http://www.w3.org/2000/svg'`, "createElementNS(")
	// markup turns texts into markup or script.
	markup = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTMLUnsafe|srcdoc|\beval\(|new Function|javascript:`)
	// inline is what a browser would refuse: handlers, styles and scripts in the document.
	inline = regexp.MustCompile(`(?i)\son[a-z]+\s*=|\sstyle\s*=|<style|<script(?:[^>]*)>[^<]`)
	// imported is what a module loads, or the document, or a sheet.
	imported = regexp.MustCompile(`(?m)(?:^import [^']*from\s*|import\()'([^']+)'|(?:src|href)="([^"]+)"|url\((/[^)]+)\)`)
)

// vendored are the files of others, as they were published, by their sha256: those of uPlot 1.6.32, and the fonts Geist and Geist
// Mono 5.3.0 of Fontsource.
var vendored = map[string]string{
	Prefix + "vendor/uplot.js": "8301d1a4fcc08355d4ff7e8c87cc4a4e13cc4da93ba50a20816005488c0c5f6e", Prefix + "vendor/uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04", Prefix + "vendor/uplot.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	Prefix + "fonts/geist.woff2": "19f9c92546aa300c312235e3125af1b81394d8db9a4bc4a425cd5b641d2d54e1", Prefix + "fonts/geist-mono.woff2": "684ad5b531f81d43c1e8c7038262d5db7cdc1f68006e04d6c7769efa8d33c8cc", Prefix + "fonts/OFL.txt": "71609cbb5c78b5870d712eab73a31d76622635c6ed034ab5cee3b9ecbda8685f",
}

// What comes from others is what was looked at, to the byte: the checks of our own files do not hold for it.
func TestVendoredFilesAreThoseOfTheirMakers(t *testing.T) {
	all := files(t)
	for path, want := range vendored {
		require.Contains(t, all, path)
		require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256(all[path].raw)), path)
	}
	require.True(t, bytes.HasSuffix(all[Prefix+"vendor/uplot.js"].raw, []byte("\nexport default uPlot;\n")))
}

// No file asks another host, turns a text into markup, or has a script or style where the browser refuses it; and what one
// loads is there.
func TestFilesAskNobodyAndMakeNoMarkup(t *testing.T) {
	all := files(t)
	loaded := map[string]bool{"/": true}
	for path, f := range all {
		if _, others := vendored[path]; others {
			continue
		}
		text := names.Replace(string(f.raw))
		require.Empty(t, foreign.FindAllString(text, -1), path)
		if strings.HasSuffix(path, ".js") {
			require.Empty(t, markup.FindAllString(text, -1), path)
			if path != Prefix+"dom.js" {
				require.NotContains(t, text, "createElement", "%s: dom.js makes elements", path)
				require.NotContains(t, text, "setAttribute('href'", path)
			}
		}
		if path == "/" || strings.HasSuffix(path, ".svg") {
			require.Empty(t, inline.FindAllString(text, -1), path)
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			at := m[1] + m[2] + m[3]
			switch {
			case strings.HasPrefix(at, "#"), at == "/openapi.json":
				continue
			case strings.HasPrefix(at, "../"):
				at = Prefix + at[len("../"):]
			case strings.HasPrefix(at, "./"):
				at = path[:strings.LastIndex(path, "/")+1] + at[len("./"):]
			}
			require.Contains(t, all, at, "%s loads %s", path, at)
			loaded[at] = true
		}
	}
	for path := range all {
		require.True(t, loaded[path], "nothing loads %s", path)
	}
}

// A browser that has the document asks at once for all that the market needs, instead of one layer of modules after the other.
func TestModulesOfTheMarketArePreloaded(t *testing.T) {
	all := files(t)
	static := regexp.MustCompile(`(?m)^import [^']*from\s*'([^']+)'`)
	needed := map[string]bool{}
	var need func(at string)
	need = func(at string) {
		if needed[at] {
			return
		}
		needed[at] = true
		require.Contains(t, all, at)
		for _, m := range static.FindAllStringSubmatch(string(all[at].raw), -1) {
			need(path.Join(path.Dir(at), m[1]))
		}
	}
	need(Prefix + "main.js")
	need(Prefix + "views/market.js")
	delete(needed, Prefix+"main.js") // the document's script
	preloaded := map[string]bool{}
	for _, m := range regexp.MustCompile(`<link rel="modulepreload" href="([^"]+)">`).FindAllStringSubmatch(string(all["/"].raw), -1) {
		preloaded[m[1]] = true
	}
	require.Equal(t, needed, preloaded)
}

// The checks above find what they are for.
func TestChecksFind(t *testing.T) {
	for _, text := range []string{`fetch("https://evil.example")`, `src="//evil.example/x.js"`, `url(//evil.example)`, `new WebSocket('wss://x')`} {
		require.Regexp(t, foreign, text)
	}
	for _, text := range []string{`<p onclick="x()">`, `<p style="color:red">`, `<script>x()</script>`, `<style>`} {
		require.Regexp(t, inline, text)
	}
	require.NotRegexp(t, inline, `<script type="module" src="/page/main.js"></script>`)
	require.Regexp(t, markup, `e.innerHTML = x`)
}
