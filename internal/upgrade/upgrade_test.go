package upgrade

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		connection, upgrade []string
		want                bool
	}{
		{[]string{"Upgrade"}, []string{"websocket"}, true},
		{[]string{"keep-alive, Upgrade"}, []string{"WebSocket"}, true}, // Firefox
		{[]string{"keep-alive", "upgrade"}, []string{"h2c, websocket"}, true},
		{[]string{"keep-alive"}, []string{"websocket"}, false},
		{[]string{"Upgrade"}, []string{"h2c"}, false},
		{[]string{"xupgrade"}, []string{"websockets"}, false},
		{nil, nil, false},
	} {
		r := &http.Request{Header: http.Header{"Connection": c.connection, "Upgrade": c.upgrade}}
		require.Equal(t, c.want, Wanted(r), "%v %v", c.connection, c.upgrade)
	}
}

func TestProtocols(t *testing.T) {
	r := &http.Request{Header: http.Header{}}
	require.Empty(t, Protocols(r))
	r.Header.Add("Sec-WebSocket-Protocol", "a, b.c ,")
	r.Header.Add("Sec-WebSocket-Protocol", "d")
	require.Equal(t, []string{"a", "b.c", "d"}, Protocols(r))
}
