package p2p

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A copy of a peer has the peer's key and may serve less. What is known of the key then holds for the other one: libp2p opens
// the stream without asking, and hears afterwards, in one of two ways, that nobody serves it.
func TestAPeerThatServesLessThanIsKnownOfItsKeySaysSo(t *testing.T) {
	a, b := newNode(t), newNode(t)
	require.NoError(t, a.Connect(testCtx(t), b.Self()))
	for range 300 {
		require.NoError(t, a.host.Peerstore().AddProtocols(b.ID(), echo.offers(a.version)...))
		_, err := Call[echoReq, echoResp](testCtx(t), a, b.Key(), echo, echoReq{Text: "x"})
		require.ErrorIs(t, err, ErrProtocol)
	}
}
