package addrgroup

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroups(t *testing.T) {
	for addr, want := range map[string][3]string{
		"31.1.2.3":                             {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"::ffff:31.1.2.3":                      {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"64:ff9b::1f01:203":                    {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"2002:1f01:203::1":                     {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"2002:1f01:203:ffff:1:2:3:4":           {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"2001:0:4136:e378:8000:63bf:e0fe:fdfc": {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"2001:4dd0:1:1ff::5":                   {"2001:4dd0:1:100::/56", "2001:4dd0:1::/48", "2001:4dd0::/32"},
		"64:ff9b:1::1f01:203":                  {"64:ff9b:1::/56", "64:ff9b:1::/48", "64:ff9b::/32"}, // translators of a network's own: which bits are the IPv4 address is not known
		"fe80::1%eth0":                         {"fe80::/56", "fe80::/48", "fe80::/32"},
		"::ffff:31.1.2.3%eth0":                 {"31.1.2.3/32", "31.1.2.0/24", "31.1.0.0/16"},
		"::1":                                  {"::/56", "::/48", "::/32"},
		"127.0.0.1":                            {"127.0.0.1/32", "127.0.0.0/24", "127.0.0.0/16"},
	} {
		ip := netip.MustParseAddr(addr)
		require.Equal(t, want, [3]string{Of(ip).String(), Site(ip).String(), Network(ip).String()}, addr)
	}
	require.Equal(t, netip.Prefix{}, Of(netip.Addr{}))
}
