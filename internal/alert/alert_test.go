package alert

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// foreign is what a hostile peer may write.
const foreign = "GPU 0\r\nBcc: victim@example.org\r\n\r\nforged \x1b[2J\u202e"

var sample = Notice{
	Key: "fault/1", Subject: foreign, Text: foreign, Severity: Critical, Time: time.Unix(1_700_000_000, 0), Link: "https://gantry.example/leases",
}.clean("gantry-agent on box", time.Now())

// answering is a server that keeps what it was asked.
func answering(t *testing.T, status int) (*httptest.Server, <-chan *http.Request, <-chan string) {
	t.Helper()
	asked, bodies := make(chan *http.Request, 99), make(chan string, 99)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		asked <- r
		bodies <- string(raw)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, asked, bodies
}

// target is a target of a test.
func target(t *testing.T, text string) Target {
	t.Helper()
	to, err := Parse(text)
	require.NoError(t, err)
	return to
}

func TestWebhookGetsTheDocumentedJSON(t *testing.T) {
	s, asked, bodies := answering(t, http.StatusNoContent)
	require.NoError(t, target(t, s.URL+"/hook?token=x").deliver(t.Context(), sample))
	r := <-asked
	require.Equal(t, http.MethodPost, r.Method)
	require.Equal(t, "/hook?token=x", r.RequestURI)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(<-bodies), &got))
	require.Equal(t, map[string]string{
		"key": "fault/1", "subject": sample.Subject, "text": sample.Text, "severity": "critical", "time": "2023-11-14T22:13:20Z",
		"link": "https://gantry.example/leases", "source": "gantry-agent on box",
	}, got)
	require.NotContains(t, got["subject"]+got["text"], "\x1b")
	require.NotContains(t, got["subject"]+got["text"], "\r")
}

func TestNtfyGetsItsHeaders(t *testing.T) {
	s, asked, bodies := answering(t, http.StatusOK)
	host := strings.TrimPrefix(s.URL, "http://")
	require.NoError(t, target(t, "ntfy://:tk_secret@"+host+"/my-topic").deliver(t.Context(), sample))
	r := <-asked
	require.Equal(t, "/my-topic", r.RequestURI)
	require.Equal(t, "Bearer tk_secret", r.Header.Get("Authorization"))
	require.Equal(t, "5", r.Header.Get("Priority"))
	require.Equal(t, "rotating_light", r.Header.Get("Tags"))
	require.Equal(t, "https://gantry.example/leases", r.Header.Get("Click"))
	require.Equal(t, `GPU 0\u000d\u000aBcc: victim@example.org\u000d\u000a\u000d\u000aforged \u001b[2J\u202e (gantry-agent on box)`, r.Header.Get("Title"))
	require.Empty(t, r.Header.Get("Bcc"))
	require.Equal(t, sample.Text, <-bodies)

	require.NoError(t, target(t, "ntfy://ann:pw@"+host+"/t").deliver(t.Context(), Notice{Subject: "Zürich"}.clean("x", time.Now())))
	r = <-asked
	require.Equal(t, "3", r.Header.Get("Priority"))
	require.Equal(t, "=?utf-8?q?Z=C3=BCrich_(x)?=", r.Header.Get("Title"))
	user, password, ok := r.BasicAuth()
	require.True(t, ok)
	require.Equal(t, "ann pw", user+" "+password)
	require.NotContains(t, r.Header, "Click")
}

// A redirect on the same host that keeps the notice is followed; each other one is an error, and nothing is sent there.
func TestRedirects(t *testing.T) {
	other, asked, _ := answering(t, http.StatusOK)
	var reached bool
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	defer s.Close()
	for path, to := range map[string]string{"/elsewhere": other.URL, "/loop": s.URL + "/loop", "/same": s.URL + "/end"} {
		mux.Handle(path, http.RedirectHandler(to, http.StatusPermanentRedirect))
	}
	mux.Handle("/as-get", http.RedirectHandler(s.URL+"/end", http.StatusFound))
	mux.HandleFunc("POST /end", func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		reached = len(raw) > 0
	})
	for _, path := range []string{"/elsewhere", "/loop", "/as-get"} {
		require.ErrorIs(t, target(t, s.URL+path).deliver(t.Context(), sample), ErrRedirect, path)
	}
	require.Empty(t, asked)
	require.False(t, reached)
	require.NoError(t, target(t, s.URL+"/same").deliver(t.Context(), sample))
	require.True(t, reached)
}

// Errors say what is wrong without the secrets of a URL.
func TestErrorsHideSecrets(t *testing.T) {
	s, _, _ := answering(t, http.StatusForbidden)
	err := target(t, s.URL+"/secret").deliver(t.Context(), sample)
	require.ErrorIs(t, err, ErrStatus)
	require.NotContains(t, err.Error(), "secret")
	s.Close()
	err = target(t, s.URL+"/secret").deliver(t.Context(), sample)
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "secret")
	for _, text := range []string{
		"", "secret", "ftp://h/secret", "http://example.org/secret", "ntfy://ntfy.sh/", "ntfy://h/a/secret", "https://ntfy.sh/",
		"smtp://u:secret@h/?from=a@b", "smtp://u:secret@h/?to=a@b", "smtp://u:secret@h/?from=a@b&to=x%0d%0aBcc:%20c@d", "https://h:secret/%zz",
		"file:" + filepath.Join(t.TempDir(), "none"), "smtp://u@h/?from=a@b&to=c@d&password-file=/none",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrTarget, text)
		require.NotContains(t, err.Error(), "secret", text)
	}
	_, err = ParseAll([]string{"https://h/x", "secret"})
	require.ErrorContains(t, err, "URL 2")
	all, err := ParseAll([]string{"https://h/x", "https://h/y", "https://h/x"})
	require.NoError(t, err)
	require.Len(t, all, 2)
}

func TestSecretsComeFromFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("p@ss/w\u00f6rd\n"), 0o600))
	u, err := url.Parse("smtp://ann@mail.example.org/?from=a@b.c&to=d@e.f&to=g@h.i&password-file=" + path)
	require.NoError(t, err)
	require.NoError(t, readPassword(u))
	m, err := parseMail(u)
	require.NoError(t, err)
	password, _ := m.user.Password()
	require.Equal(t, "p@ss/wörd", password)
	require.Len(t, m.to, 2)
	require.Equal(t, "mail.example.org:587", m.addr)

	s, asked, _ := answering(t, http.StatusOK)
	require.NoError(t, os.WriteFile(path, []byte(s.URL+"/from-file\n# comment"), 0o600))
	to := target(t, "file:"+path)
	require.Equal(t, s.URL, to.Name)
	require.NoError(t, Test(t.Context(), []Target{to}, "here"))
	require.Equal(t, "/from-file", (<-asked).RequestURI)
	require.Equal(t, "https://ntfy.sh", Names([]Target{target(t, "https://ntfy.sh/topic")}))
}

// hanging accepts connections and says nothing.
func hanging(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestADeliveryEndsWithItsContext(t *testing.T) {
	for _, text := range []string{"http://" + hanging(t), "ntfy://" + hanging(t) + "/t", "smtp://" + hanging(t) + "/?from=a@b.c&to=d@e.f", "smtps://" + hanging(t) + "/?from=a@b.c&to=d@e.f"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begun := time.Now()
		require.Error(t, target(t, text).deliver(ctx, sample), text)
		require.Less(t, time.Since(begun), 5*time.Second, text)
		cancel()
	}
}

func TestNoticesAreBounded(t *testing.T) {
	n := Notice{Subject: strings.Repeat("ü", 999), Text: strings.Repeat("\x00", 99_999), Link: "javascript:alert(1)", Severity: "loud"}.clean("s", time.Now())
	require.LessOrEqual(t, len(n.Subject), maxSubject)
	require.LessOrEqual(t, len(n.Text), maxText)
	require.Empty(t, n.Link)
	require.Equal(t, Info, n.Severity)
	require.False(t, n.Time.IsZero())
}
