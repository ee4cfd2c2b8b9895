package audit

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
)

// counted is a history that counts how often each transaction is read.
type counted struct {
	infos []chain.SignatureInfo
	data  int // bytes of each instruction
	fails error

	mu   sync.Mutex
	read map[solana.Signature]int
}

func (c *counted) History(context.Context, solana.PublicKey, chain.Commitment, int) ([]chain.SignatureInfo, error) {
	return append([]chain.SignatureInfo{}, c.infos...), nil
}

func (c *counted) Transaction(_ context.Context, sig solana.Signature, _ chain.Commitment) (chain.Landed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read[sig]++
	return chain.Landed{Signature: sig, Tx: &solana.Transaction{Message: solana.Message{Instructions: []solana.CompiledInstruction{{Data: make([]byte, c.data)}}}}}, c.fails
}

// all reads everything, and tells how many transactions that took.
func (c *counted) all(t *testing.T, src Source) int {
	t.Helper()
	c.read = map[solana.Signature]int{}
	txs, err := Read(t.Context(), src, pub("node"), chain.Confirmed)
	require.NoError(t, err)
	require.Len(t, txs, len(c.infos))
	n := 0
	for _, times := range c.read {
		n += times
	}
	return n
}

// What is final is kept, up to a bound; what may change, cannot be read, or is large, is not.
func TestKeptTransactions(t *testing.T) {
	c := &counted{infos: make([]chain.SignatureInfo, 10)}
	for i := range c.infos {
		c.infos[i] = chain.SignatureInfo{Signature: solana.Signature{byte(i + 1)}, Slot: uint64(100 - i), Commitment: chain.Finalized}
	}
	c.infos[0].Commitment, c.infos[1].Commitment = chain.Confirmed, "" // and one of which the node does not say
	require.Equal(t, 10, c.all(t, c))
	require.Equal(t, 10, c.all(t, c), "a source alone keeps nothing")

	k := Keep(c)
	require.Equal(t, 10, c.all(t, k))
	require.Equal(t, 2, c.all(t, k))
	c.infos[0].Commitment = chain.Finalized
	require.Equal(t, 2, c.all(t, k))
	require.Equal(t, 1, c.all(t, k))

	small := keep(c, 3)
	require.Equal(t, 10, c.all(t, small))
	require.Equal(t, 3, small.txs.Len())

	c.data = keptBytes
	large := Keep(c)
	require.Equal(t, 10, c.all(t, large))
	require.Equal(t, 10, c.all(t, large))
	c.data, c.fails = 0, fmt.Errorf("cut off: %w", chain.ErrUnreadable)
	torn := Keep(c)
	require.Equal(t, 10, c.all(t, torn))
	c.fails = nil
	require.Equal(t, 10, c.all(t, torn), "another node could read them")
	require.Equal(t, 1, c.all(t, torn))
}
