package expose

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

// What a gateway answers reaches terminals, configurations of ssh and pages: anything but a plain address is refused.
func TestAnswersArePlain(t *testing.T) {
	for url, plain := range map[string]bool{
		"https://notebook-abc.gw.example.org/": true, "https://notebook-abc.gw.example.org:8443/": true, "https://127.0.0.1/": true,
		"http://notebook-abc.gw.example.org/": false, "https://gw.example.org": false, "https://gw.example.org/path": false,
		"https://gw.example.org/?q": false, "https://user@gw.example.org/": false, "https://gw_example.org/": false,
		"javascript:alert(1)": false, "https:///": false, "": false,
	} {
		require.Equal(t, plain, plainURL(url), url)
	}
	for host, plain := range map[string]bool{
		"gw.example.org": true, "::1": true, "10.0.0.1": true, "": false, "-oProxyCommand=x": false, "a b": false, "$(x)": false, "a\nHost": false,
	} {
		require.Equal(t, plain, plainHost(host), host)
	}
}

func TestPortsAreRead(t *testing.T) {
	p, err := ParsePort("8888:notebook", false)
	require.NoError(t, err)
	require.Equal(t, records.GrantedPort{Port: 8888, Name: "notebook"}, p)
	p, err = ParsePort("8443", true)
	require.NoError(t, err)
	require.Equal(t, records.GrantedPort{Port: 8443, Name: "8443", TLS: true}, p)
	for text, says := range map[string]string{
		"": `--port: "" is not a port`, "0": `--port: "0" is not a port`, "65536": "is not a port", "8888:Note": "cannot be part of a host name",
		"8888:": "cannot be part of a host name",
	} {
		_, err := ParsePort(text, false)
		require.ErrorContains(t, err, says, text)
	}
}

func TestPortsAndGatewaysOfAnOrder(t *testing.T) {
	for text, want := range map[string]struct {
		w    Wanted
		text string
		via  string
	}{
		"8888":          {Wanted{Port: 8888, Here: "8888", Name: "8888"}, "8888", Auto},
		"8888:9000":     {Wanted{Port: 8888, Here: "9000", Name: "8888", Local: true}, "8888:9000", ""},
		"8888:notebook": {Wanted{Port: 8888, Here: "8888", Name: "notebook"}, "8888", Auto},
		"80:web-1":      {Wanted{Port: 80, Here: "80", Name: "web-1"}, "80", Auto},
	} {
		w, err := ParseWanted(text)
		require.NoError(t, err, text)
		require.Equal(t, want.w, w)
		require.Equal(t, want.text, w.String())
		require.Equal(t, want.via, Via("", []Wanted{w}), text)
		require.Empty(t, Via(None, []Wanted{w}))
		require.Equal(t, "gw", Via("gw", []Wanted{w}))
	}
	for _, text := range []string{"", "0", "65536", "x", "8888:", "80:A"} {
		_, err := ParseWanted(text)
		require.Error(t, err, text)
	}
	require.NoError(t, CheckVia(Auto))
	require.Error(t, CheckVia("gw.example.org"))
}

func TestNothingIsGrantedByAnEmptyRequest(t *testing.T) {
	require.ErrorContains(t, (&Request{}).Check(), "nothing is granted")
	require.ErrorContains(t, (&Request{SSHKeys: []string{"no key"}}).Check(), "not a public SSH key")
	require.NoError(t, (&Request{Ports: []records.GrantedPort{{Port: 2, Name: "b"}, {Port: 1, Name: "a"}}}).Check())
	require.ErrorContains(t, (&Request{Ports: []records.GrantedPort{{Port: 1, Name: "a"}, {Port: 2, Name: "a"}}}).Check(), "two ports have the name")
	require.ErrorContains(t, (&Request{Ports: []records.GrantedPort{{Port: 1, Name: "a"}, {Port: 1, Name: "b"}}}).Check(), "do not ascend")
}

func TestGatewaysAreNamed(t *testing.T) {
	peer, err := Named("4Nd1mYvRoSPnbRMrcmbCWmWYvGqAKsTXDVaGAQ3dPpjd")
	require.NoError(t, err)
	require.Empty(t, peer.Addrs)
	_, err = Named("gw.example.org")
	require.ErrorContains(t, err, "--via")
}
