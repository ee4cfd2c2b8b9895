// Package alert sends notices for people: by webhook, by ntfy and by mail.
//
// A daemon reports what needs a person to a Sender. The Sender sends each notice once, and keeps in the daemon's store
// what it sent. A Sender never blocks the daemon: it queues notices, and one goroutine per target sends them.
package alert

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gantry-market/gantry/internal/printable"
)

// Severity says how urgent a notice is.
type Severity string

// The severities, the most urgent last.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// rank orders severities.
func (s Severity) rank() int {
	switch s {
	case Critical:
		return 2
	case Warning:
		return 1
	}
	return 0
}

const (
	// maxSubject and maxText bound a notice, bytes.
	maxSubject, maxText = 200, 4000
	// sendWithin bounds one delivery.
	sendWithin = 20 * time.Second
)

// Notice tells a person about one thing. The JSON form is what a webhook gets.
type Notice struct {
	// Key names the thing. A Sender sends a notice with the same key again only if the thing was over in between.
	Key      string    `json:"key"`
	Subject  string    `json:"subject"`
	Text     string    `json:"text"`
	Severity Severity  `json:"severity"`
	Time     time.Time `json:"time"`
	// Link is an http or https URL; empty for none.
	Link string `json:"link,omitempty"`
	// Source names the daemon and the machine. The Sender sets it.
	Source string `json:"source"`
	// After is how long the condition must last before a person is told.
	After time.Duration `json:"-"`
}

// clean makes the parts of a notice that peers wrote safe, and bounds all of them.
func (n Notice) clean(source string, now time.Time) Notice {
	n.Key, n.Source = printable.Text(n.Key), printable.Text(source)
	n.Subject, n.Text = cut(printable.Text(n.Subject), maxSubject), cut(printable.Lines(n.Text), maxText)
	if n.Severity.rank() == 0 {
		n.Severity = Info
	}
	if n.Time.IsZero() {
		n.Time = now
	}
	n.Time = n.Time.UTC().Truncate(time.Second)
	if u, err := url.Parse(n.Link); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		n.Link = ""
	} else {
		n.Link = u.String()
	}
	return n
}

// title is the subject with the daemon that sends it.
func (n Notice) title() string { return n.Subject + " (" + n.Source + ")" }

// cut shortens a text to so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const end = "…"
	at := most - len(end)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + end
}

// Test sends a test notice to each target. The error has what failed.
func Test(ctx context.Context, targets []Target, source string) error {
	now := time.Now()
	n := Notice{
		Key: "test", Subject: "Test notice from Gantry", Text: "Notices reach you. There is nothing to do.", Severity: Info, Time: now,
	}.clean(source, now)
	var failed []error
	for _, t := range targets {
		if err := t.deliver(ctx, n); err != nil {
			failed = append(failed, fmt.Errorf("notice to %s: %w", t.Name, err))
		}
	}
	return errors.Join(failed...)
}

// Source names a program and its machine, for Options.Source.
func Source(program string) string {
	host, err := os.Hostname()
	if err != nil {
		return program
	}
	return program + " on " + host
}

// Names lists targets without their secrets.
func Names(targets []Target) string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
