package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

const (
	// zoneName is the zone that takes updates.
	zoneName = "gw.test."
	keyName  = "gantry."
)

// names is a DNS server for which every name leads to this machine. It is the primary server of one zone, whose TXT records
// change by updates (RFC 2136) that are signed with its key.
type names struct {
	address, secret string
	servers         []*dns.Server
	done            sync.WaitGroup

	mu  sync.Mutex
	txt []*dns.TXT
}

func newNames() (*names, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	n := &names{secret: base64.StdEncoding.EncodeToString(secret)}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n.address = tcp.Addr().String()
	udp, err := net.ListenPacket("udp", n.address)
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	for _, s := range []*dns.Server{{Listener: tcp}, {PacketConn: udp}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		s.Handler, s.TsigSecret = n, map[string]string{keyName: n.secret}
		s.MsgAcceptFunc = func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept } // updates too
		n.done.Go(func() { _ = s.ActivateAndServe() })
		<-started
		n.servers = append(n.servers, s)
	}
	return n, nil
}

func (n *names) close() {
	for _, s := range n.servers {
		_ = s.Shutdown()
	}
	n.done.Wait()
}

// key is the zone's key as tsig-keygen writes one.
func (n *names) key() string {
	return fmt.Sprintf("key %q {\n\talgorithm hmac-sha256;\n\tsecret %q;\n};\n", strings.TrimSuffix(keyName, "."), n.secret)
}

// ServeDNS implements dns.Handler.
func (n *names) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	m.Authoritative = true
	switch {
	case len(q.Question) != 1:
		m.Rcode = dns.RcodeFormatError
	case q.Opcode == dns.OpcodeUpdate:
		if m.Rcode = dns.RcodeNotAuth; q.IsTsig() != nil && w.TsigStatus() == nil && q.Question[0].Name == zoneName {
			m.Rcode = n.update(q.Ns)
			m.SetTsig(keyName, dns.HmacSHA256, 300, int64(q.IsTsig().TimeSigned))
		}
	default:
		m.Answer = n.answer(q.Question[0])
	}
	_ = w.WriteMsg(m)
}

// update adds and removes TXT records of the zone.
func (n *names) update(changes []dns.RR) (code int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, change := range changes {
		record, ok := change.(*dns.TXT)
		if !ok || !dns.IsSubDomain(zoneName, record.Hdr.Name) {
			return dns.RcodeRefused
		}
		n.txt = slices.DeleteFunc(n.txt, func(r *dns.TXT) bool { return r.Hdr.Name == record.Hdr.Name && slices.Equal(r.Txt, record.Txt) })
		if record.Hdr.Class == dns.ClassINET { // otherwise it is removed
			n.txt = append(n.txt, record)
		}
	}
	return dns.RcodeSuccess
}

func (n *names) answer(q dns.Question) (out []dns.RR) {
	head := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: 1}
	apex := strings.EqualFold(q.Name, zoneName)
	switch {
	case q.Qtype == dns.TypeA:
		out = append(out, &dns.A{Hdr: head, A: net.IPv4(127, 0, 0, 1)})
	case q.Qtype == dns.TypeSOA && apex:
		out = append(out, &dns.SOA{Hdr: head, Ns: "ns." + zoneName, Mbox: "hostmaster." + zoneName, Serial: 1, Refresh: 1, Retry: 1, Expire: 1, Minttl: 1})
	case q.Qtype == dns.TypeNS && apex:
		out = append(out, &dns.NS{Hdr: head, Ns: "ns." + zoneName})
	case q.Qtype == dns.TypeTXT:
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, r := range n.txt {
			if strings.EqualFold(r.Hdr.Name, q.Name) {
				out = append(out, r)
			}
		}
	}
	return out
}

// count of the TXT records that the zone has.
func (n *names) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.txt)
}
