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
