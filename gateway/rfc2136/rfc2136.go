// Package rfc2136 writes the TXT records by which an ACME server checks a domain (DNS-01). It sends a DNS server dynamic
// updates (RFC 2136), signed with a shared key (TSIG). BIND, Knot, PowerDNS and others take them.
package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/libdns/libdns"
	"github.com/miekg/dns"
)

// ErrUpdate: a DNS server did not take an update.
var ErrUpdate = errors.New("the DNS server did not take the update")

// Provider is safe for concurrent use. It implements libdns.RecordAppender and libdns.RecordDeleter for TXT records.
type Provider struct {
	server string
	key    Key
}

const (
	port = "53"
	// updateTime is how long one update may take.
	updateTime = 10 * time.Second
	// lifetime of a record in caches, seconds.
	lifetime = 60
	// fudge is how far the clocks of both sides may differ, seconds; RFC 8945 recommends it.
	fudge = 300
)

// New is a provider for a zone's primary server, HOST or HOST:PORT.
func New(server string, key Key) *Provider {
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, port)
	}
	return &Provider{server: server, key: key}
}

// AppendRecords implements libdns.RecordAppender. Error: ErrUpdate.
func (p *Provider) AppendRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	return p.update(ctx, zone, records, (*dns.Msg).Insert)
}

// DeleteRecords implements libdns.RecordDeleter. Error: ErrUpdate.
func (p *Provider) DeleteRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	return p.update(ctx, zone, records, (*dns.Msg).Remove)
}

func (p *Provider) update(ctx context.Context, zone string, records []libdns.Record, how func(*dns.Msg, []dns.RR)) ([]libdns.Record, error) {
	m := new(dns.Msg).SetUpdate(dns.Fqdn(zone))
	var name string
	for _, r := range records {
		rr := r.RR()
		if rr.Type != "TXT" {
			return nil, fmt.Errorf("%w: a record of type %s is not a TXT record", ErrUpdate, rr.Type)
		}
		name = libdns.AbsoluteName(rr.Name, dns.Fqdn(zone))
		how(m, []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: lifetime}, Txt: []string{rr.Data}}})
	}
	m.SetTsig(p.key.Name, p.key.Algorithm, fudge, time.Now().Unix())
	client := dns.Client{Net: "tcp", Timeout: updateTime, TsigSecret: map[string]string{p.key.Name: p.key.Secret}}
	answer, _, err := client.ExchangeContext(ctx, m, p.server)
	if why := p.wrong(answer, err, zone, name); why != nil {
		return nil, fmt.Errorf("%w: %s, zone %s: %w", ErrUpdate, p.server, zone, why)
	}
	return records, nil
}

// wrong says what an answer means and what to do.
func (p *Provider) wrong(answer *dns.Msg, err error, zone, name string) error {
	if answer == nil {
		return err
	}
	signed := answer.IsTsig()
	var code uint16
	if signed != nil {
		code = signed.Error
	}
	switch {
	case code == dns.RcodeBadKey:
		return fmt.Errorf("it does not know the key %q (BADKEY): give it a key of this name and algorithm %s, or correct the key's file", p.key.Name, p.key.Algorithm)
	case code == dns.RcodeBadSig:
		return fmt.Errorf("its secret of the key %q is another (BADSIG): both must have the same; correct the key's file", p.key.Name)
	case code == dns.RcodeBadTime:
		return fmt.Errorf("its clock differs by more than %d seconds from this machine's (BADTIME): set both by NTP", fudge)
	case answer.Rcode == dns.RcodeRefused:
		return fmt.Errorf("it refuses updates of %s with the key %q (REFUSED): permit them in its configuration, in BIND by update-policy or allow-update", name, p.key.Name)
	case answer.Rcode == dns.RcodeNotAuth, answer.Rcode == dns.RcodeNotZone:
		return fmt.Errorf("it is not the primary server of this zone, or does not know the key %q (%s)", p.key.Name, dns.RcodeToString[answer.Rcode])
	case answer.Rcode != dns.RcodeSuccess:
		return fmt.Errorf("it answers %s", dns.RcodeToString[answer.Rcode])
	case err != nil:
		return fmt.Errorf("its answer is not signed as it must be: %w", err)
	case signed == nil:
		return errors.New("its answer is not signed: something between here and the server may have changed it")
	}
	return nil
}
