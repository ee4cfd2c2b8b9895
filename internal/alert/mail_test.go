package alert

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mailServer is a small SMTP server. It keeps the commands and the mails.
type mailServer struct {
	cert     *tls.Certificate // for STARTTLS; nil for none
	refuse   string           // the command that it refuses
	commands chan string
	mails    chan string
	addr     string
}

func (s *mailServer) start(t *testing.T) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s.commands, s.mails, s.addr = make(chan string, 99), make(chan string, 9), l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.speak(c)
		}
	}()
	return s
}

func (s *mailServer) speak(c net.Conn) {
	defer func() { _ = c.Close() }()
	secure := false
	r := bufio.NewReader(c)
	say := func(text string) { _, _ = io.WriteString(c, text+"\r\n") }
	say("220 test ESMTP")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		s.commands <- line
		word, _, _ := strings.Cut(line, " ")
		switch {
		case word == s.refuse:
			say("550 no\x1b[2J")
		case word == "EHLO":
			say("250-test")
			if s.cert != nil && !secure {
				say("250-STARTTLS")
			}
			say("250 AUTH PLAIN")
		case word == "STARTTLS":
			say("220 go")
			c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*s.cert}})
			r, secure = bufio.NewReader(c), true
		case word == "AUTH":
			say("235 yes")
		case word == "DATA":
			say("354 go")
			var b strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil || line == ".\r\n" {
					break
				}
				b.WriteString(strings.TrimPrefix(line, ".")) // the client doubles a dot
			}
			s.mails <- b.String()
			say("250 kept")
		case word == "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// certificate is one for example.com, with what trusts it.
func certificate(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &s.TLS.Certificates[0], pool
}

func TestMailByStartTLS(t *testing.T) {
	cert, pool := certificate(t)
	s := (&mailServer{cert: cert}).start(t)
	u, err := url.Parse(fmt.Sprintf("smtp://ann:secret@%s/?from=gantry@example.org&to=me@example.org&to=you@example.org", s.addr))
	require.NoError(t, err)
	m, err := parseMail(u)
	require.NoError(t, err)
	require.Error(t, m.send(t.Context(), sample), "nobody vouches for the certificate")
	for len(s.commands) > 0 {
		require.NotContains(t, <-s.commands, "AUTH")
	}
	m.tls.RootCAs = pool
	n := sample
	n.Text = "Line 1\n.\nZürich\nBcc: x@y.z\n" + strings.Repeat("long ", 400)
	require.NoError(t, m.send(t.Context(), n))

	got, err := mail.ReadMessage(strings.NewReader(<-s.mails))
	require.NoError(t, err)
	require.Equal(t, "<gantry@example.org>", got.Header.Get("From"))
	require.Equal(t, "<me@example.org>, <you@example.org>", got.Header.Get("To"))
	require.Empty(t, got.Header.Get("Bcc"))
	require.Equal(t, "auto-generated", got.Header.Get("Auto-Submitted"))
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, sample.Subject+" (gantry-agent on box)", subject)
	_, err = got.Header.Date()
	require.NoError(t, err)
	text, err := io.ReadAll(quotedprintable.NewReader(got.Body))
	require.NoError(t, err)
	require.Equal(t, n.Text+"\n\nhttps://gantry.example/leases\n", strings.ReplaceAll(string(text), "\r\n", "\n"))
	close(s.commands)
	var all []string
	for c := range s.commands {
		all = append(all, c)
	}
	require.Contains(t, all, "RCPT TO:<you@example.org>")
	require.Contains(t, strings.Join(all, "\n"), "AUTH PLAIN")
}

// A server on another machine must encrypt; one of this machine need not.
func TestMailWithoutTLS(t *testing.T) {
	s := (&mailServer{}).start(t)
	u, err := url.Parse("smtp://ann:secret@" + s.addr + "/?from=a@example.org&to=b@example.org")
	require.NoError(t, err)
	m, err := parseMail(u)
	require.NoError(t, err)
	require.NoError(t, m.send(t.Context(), sample))
	require.Contains(t, <-s.mails, "Subject: ")
	for len(s.commands) > 0 {
		<-s.commands
	}
	m.host = "mail.example.org"
	require.ErrorIs(t, m.send(t.Context(), sample), ErrNoTLS)
	for len(s.commands) > 0 {
		require.NotContains(t, <-s.commands, "AUTH")
	}
	require.Empty(t, s.mails)
}

func TestMailIsRefused(t *testing.T) {
	for _, word := range []string{"MAIL", "RCPT", "DATA", "AUTH"} {
		s := (&mailServer{refuse: word}).start(t)
		require.ErrorContains(t, target(t, "smtp://u:p@"+s.addr+"/?from=a@b.c&to=d@e.f").deliver(t.Context(), sample), "550", word)
	}
}
