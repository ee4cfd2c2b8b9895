package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txerr"
	"github.com/gantry-market/gantry/sdk/txm"
)

// The texts are part of the interface: people and scripts read them.
func TestErrorTexts(t *testing.T) {
	program := func(code uint32) error {
		return &txerr.ProgramError{Program: market.ProgramID, Code: code, HasCode: true}
	}
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{
			fmt.Errorf("%w: /x/id.json; create one with `gantry key new /x/id.json` or pass --keypair PATH", chain.ErrKeypairMissing), service.CodeUsage,
			"error: keypair file does not exist: /x/id.json\n       create one with `gantry key new /x/id.json` or pass --keypair PATH\n",
		},
		{
			fmt.Errorf("%w: http://127.0.0.1:8899 (connection refused); start a local network with `gantry-localnet up`, or pass --url", chain.ErrUnreachable), service.CodeNetwork,
			"error: no Solana RPC endpoint answers: http://127.0.0.1:8899 (connection refused)\n       start a local network with `gantry-localnet up`, or pass --url\n",
		},
		{program(6008), service.CodeRefused, "error: new orders are paused\n       wait until the guardian reopens orders; running leases and withdrawals are not affected\n"},
		{program(101), service.CodeNetwork, "error: the market program is of another version than this client\n       update gantry to the version of the market's program\n"},
		{
			&txm.TxError{Name: "AccountNotFound", Hint: "send some SOL to the fee payer X"}, service.CodeRefused,
			"error: not enough SOL for the transaction fee\n       send some SOL to the fee payer X\n",
		},
		{
			&txm.TxError{Name: "InsufficientFundsForRent"}, service.CodeRefused,
			"error: not enough SOL for the rent of a new account\n       send some SOL to your wallet; rent comes back when the account is closed\n",
		},
		{context.Canceled, service.CodeInterrupted, "interrupted\n       nothing was sent that is not shown above\n"},
		{context.DeadlineExceeded, service.CodeNetwork, "error: timed out\n       try again, or check the connection\n"},
		{service.Usage("there is no time", "say how long"), service.CodeUsage, "error: there is no time\n       say how long\n"},
		{errors.New("line one\nline two"), service.CodeRefused, "error: line one line two\n"},
	} {
		f := service.Classify(c.err)
		var b bytes.Buffer
		Streams{Err: &b}.printFailure(f)
		require.Equal(t, c.text, b.String())
		require.Equal(t, c.code, f.Code, c.text)
	}
	j := describeFailure(service.Classify(program(6008)))
	require.Equal(t, "OrdersPaused", j.Error.Program)
	require.EqualValues(t, 6008, j.Error.Code)
	require.Equal(t, service.CodeRefused, j.Error.Exit)
}
