package nettest

import (
	"net"
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// resolve answers a question for any name.
func resolve(raw []byte, _ net.Addr) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(raw)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: head.ID, Response: true, RecursionAvailable: true}, Questions: []dnsmessage.Question{q}}
	to := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}
	switch q.Type {
	case dnsmessage.TypeA:
		answer.Answers = []dnsmessage.Resource{{Header: to, Body: &dnsmessage.AResource{A: netip.MustParseAddr(Web).As4()}}}
	case dnsmessage.TypeAAAA:
		answer.Answers = []dnsmessage.Resource{{Header: to, Body: &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(Web6).As16()}}}
	}
	out, err := answer.Pack()
	if err != nil {
		return nil
	}
	return out
}
