package audit

import (
	"github.com/gagliardetto/solana-go"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// keptTxs is how many transactions are kept at most: the records of 27 machines at 300 each.
	keptTxs = 8192
	// keptBytes is the size from which a transaction is not kept: whoever pays its fee can name any account in one.
	keptBytes = 16 << 10
)

// Kept is a source that keeps finalised transactions as they were read, since they cannot change: it is asked for those
// alone that are new. Lists of signatures are not kept, nor transactions that are not finalised or could not be read,
// which another node of the cluster may be able to read. It is safe for concurrent use.
type Kept struct {
	Source
	txs *lru.Cache[solana.Signature, Tx]
}

// Keep keeps the last used transactions of a source, some thousands, as long as the caller holds it.
func Keep(src Source) *Kept { return keep(src, keptTxs) }

func keep(src Source, most int) *Kept {
	txs, _ := lru.New[solana.Signature, Tx](most) // its only error is of a number that is not positive
	return &Kept{Source: src, txs: txs}
}

func (k *Kept) get(sig solana.Signature) (Tx, bool) { return k.txs.Get(sig) }

func (k *Kept) add(t *Tx) {
	if t.bytes() < keptBytes {
		k.txs.Add(t.Signature, *t)
	}
}

// bytes is about how much memory a transaction takes without its events, which are bounded by what a program may log.
func (t *Tx) bytes() int {
	n := 0
	for i := range t.Instructions {
		n += len(t.Instructions[i].Data) + solana.PublicKeyLength*len(t.Instructions[i].Accounts)
	}
	return n
}
