package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

const patience = 5 * time.Second

// askAll prints what each server says.
func askAll(targets []string) {
	answers := make([]string, len(targets))
	var asking sync.WaitGroup
	for i, what := range targets {
		asking.Add(1)
		go func() {
			defer asking.Done()
			answers[i] = ask(what)
		}()
	}
	asking.Wait()
	for i, what := range targets {
		fmt.Println("asked", what, answers[i])
	}
}

// ask returns what a server says, or why it says nothing.
func ask(what string) string {
	network, target, _ := strings.Cut(what, "://")
	if network == "ping" {
		return ping(target)
	}
	c, err := net.DialTimeout(network, target, patience)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err.Error()
	}
	if network == "udp" {
		if _, err := c.Write([]byte("x")); err != nil {
			return err.Error()
		}
		b := make([]byte, 512)
		n, err := c.Read(b)
		if err != nil {
			return err.Error()
		}
		return string(b[:n])
	}
	b, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func ping(target string) string {
	network, own, proto := "udp4", "0.0.0.0", 1
	var request icmp.Type = ipv4.ICMPTypeEcho
	var reply icmp.Type = ipv4.ICMPTypeEchoReply
	if strings.Contains(target, ":") {
		network, own, proto = "udp6", "::", 58
		request, reply = ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply
	}
	c, err := icmp.ListenPacket(network, own)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	m := icmp.Message{Type: request, Body: &icmp.Echo{ID: 1, Seq: 1, Data: []byte("x")}}
	raw, err := m.Marshal(nil)
	if err != nil {
		return err.Error()
	}
	if _, err := c.WriteTo(raw, &net.UDPAddr{IP: net.ParseIP(target)}); err != nil {
		return err.Error()
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err.Error()
	}
	b := make([]byte, 1500)
	n, _, err := c.ReadFrom(b)
	if err != nil {
		return err.Error()
	}
	got, err := icmp.ParseMessage(proto, b[:n])
	if err != nil {
		return err.Error()
	}
	if got.Type != reply {
		return "icmp " + got.Type.(interface{ String() string }).String()
	}
	return "you are there"
}
