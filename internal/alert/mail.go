package alert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"
)

// ErrNoTLS: a mail server on another machine does not offer STARTTLS.
var ErrNoTLS = errors.New("the mail server does not offer STARTTLS")

// mailer sends mail by one server.
type mailer struct {
	host, addr string
	implicit   bool // TLS from the first byte
	user       *url.Userinfo
	from       *mail.Address
	to         []*mail.Address
	tls        *tls.Config
}

// newMail sends notices by mail. Error: ErrTarget.
func newMail(u *url.URL) (func(context.Context, Notice) error, error) {
	m, err := parseMail(u)
	if err != nil {
		return nil, err
	}
	return m.send, nil
}

func parseMail(u *url.URL) (*mailer, error) {
	m := &mailer{host: u.Hostname(), implicit: u.Scheme == "smtps", user: u.User}
	port := u.Port()
	if port == "" {
		port = "587"
		if m.implicit {
			port = "465"
		}
	}
	m.addr = net.JoinHostPort(m.host, port)
	m.tls = &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	q := u.Query()
	var err error
	if m.from, err = mail.ParseAddress(q.Get("from")); err != nil {
		return nil, fmt.Errorf("%w: from=… is not a mail address", ErrTarget)
	}
	for _, text := range q["to"] {
		a, err := mail.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("%w: to=… is not a mail address", ErrTarget)
		}
		m.to = append(m.to, a)
	}
	if len(m.to) == 0 {
		return nil, fmt.Errorf("%w: name who gets the mail: to=a@example.org", ErrTarget)
	}
	return m, nil
}

// send delivers one mail. The deadline of the context also ends what hangs.
func (m *mailer) send(ctx context.Context, n Notice) error {
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.addr)
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	defer func() { _ = plain.Close() }() // Quit has closed it where all went well
	defer context.AfterFunc(ctx, func() { _ = plain.SetDeadline(time.Unix(1, 0)) })()
	conn := plain
	if m.implicit {
		conn = tls.Client(plain, m.tls)
	}
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	if err := m.secure(c); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return c.Mail(m.from.Address) },
		func() error { return m.recipients(c) },
		func() error { return m.data(c, n) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("mail server: %w", err)
		}
	}
	_ = c.Quit() // the server has the mail
	return nil
}

// secure encrypts the connection, and logs in. Error: ErrNoTLS.
func (m *mailer) secure(c *smtp.Client) error {
	offers, _ := c.Extension("STARTTLS")
	switch {
	case m.implicit:
	case offers:
		if err := c.StartTLS(m.tls); err != nil {
			return fmt.Errorf("mail server: %w", err)
		}
	case !loopback(m.host):
		return ErrNoTLS
	}
	password, has := m.user.Password()
	if !has {
		return nil
	}
	if err := c.Auth(smtp.PlainAuth("", m.user.Username(), password, m.host)); err != nil {
		return fmt.Errorf("login at the mail server: %w", err)
	}
	return nil
}

func (m *mailer) recipients(c *smtp.Client) error {
	for _, a := range m.to {
		if err := c.Rcpt(a.Address); err != nil {
			return err
		}
	}
	return nil
}

func (m *mailer) data(c *smtp.Client, n Notice) error {
	raw, err := m.message(n)
	if err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(raw); err != nil {
		return err
	}
	return w.Close()
}

// message is the mail with its headers.
func (m *mailer) message(n Notice) ([]byte, error) {
	to := make([]string, len(m.to))
	for i, a := range m.to {
		to[i] = a.String()
	}
	id := sha256.Sum256([]byte(n.Source + "\x00" + n.Key + "\x00" + n.Time.String()))
	_, domain, _ := strings.Cut(m.from.Address, "@")
	priority := "normal"
	if n.Severity == Critical {
		priority = "urgent"
	}
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", m.from.String()},
		{"To", strings.Join(to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", n.title())},
		{"Date", n.Time.Format(time.RFC1123Z)},
		{"Message-ID", fmt.Sprintf("<%x@%s>", id[:12], domain)},
		{"Auto-Submitted", "auto-generated"},
		{"Priority", priority},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	text := n.Text + "\n"
	if n.Link != "" {
		text += "\n" + n.Link + "\n"
	}
	w := quotedprintable.NewWriter(&b)
	if _, err := w.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
