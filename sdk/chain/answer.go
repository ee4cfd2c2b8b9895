package chain

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
)

// ask asks one endpoint after the other, those that avoid names last, until one gives an answer that passes the check.
// It returns the endpoint's URL too.
func ask[T any](ctx context.Context, c *Client, avoid []string, check func(*T) error, method string, params ...any) (T, string, error) {
	var out T
	n, err := c.do(ctx, method, avoid, func(ctx context.Context, r *rpc.Client) error {
		var got T
		if err := rawCall(ctx, r, &got, method, params...); err != nil {
			return err
		}
		if err := check(&got); err != nil {
			return err
		}
		out = got
		return nil
	})
	if err != nil {
		return out, "", err
	}
	return out, n.ep.RPC, nil
}

// positive is the check of a number that is never zero.
func positive(n *unsigned) error {
	if *n == 0 {
		return wrong("the number is 0")
	}
	return nil
}

// notNil is the check of a list: a node without entries answers with an empty one.
func notNil[L ~[]T, T any](l *L) error {
	if *l == nil {
		return wrong("the list is null")
	}
	return nil
}

// at is an answer with the slot of the state that it was read from.
type at[T any] struct {
	Context slotContext `json:"context"`
	Value   T           `json:"value"`
}

func (a *at[T]) slot() uint64 { return uint64(a.Context.Slot) }

// placed is the check of an answer that names its slot.
func placed[T any](a *at[T]) error {
	if a.Context.Slot == 0 {
		return wrong("it names no slot")
	}
	return nil
}

type slotContext struct {
	Slot unsigned `json:"slot"`
}

type accountJSON struct {
	Lamports   unsigned         `json:"lamports"`
	Owner      solana.PublicKey `json:"owner"`
	Data       json.RawMessage  `json:"data"`
	Executable bool             `json:"executable"`
}

// account reads the form of an answer. Error: ErrAnswer.
func (a *accountJSON) account(key solana.PublicKey, slot uint64) (Account, error) {
	data, ok := base64Of(a.Data)
	if !ok {
		return Account{}, wrong(fmt.Sprintf("the data of account %s is not base64", key))
	}
	return Account{Key: key, Owner: a.Owner, Lamports: Lamports(a.Lamports), Data: data, Executable: a.Executable, Slot: slot}, nil
}

// base64Of is the data of an account in an answer, ["…","base64"].
func base64Of(raw []byte) (data []byte, ok bool) {
	text, begins := bytes.CutPrefix(raw, []byte(`["`))
	text, ends := bytes.CutSuffix(text, []byte(`","base64"]`))
	if begins && ends { // as nodes write it
		data = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		if n, err := base64.StdEncoding.Decode(data, text); err == nil {
			return data[:n], true
		}
	}
	var pair [2]string
	if err := json.Unmarshal(raw, &pair); err != nil || pair[1] != "base64" {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(pair[0])
	return data, err == nil
}
