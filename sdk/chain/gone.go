package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
)

// Found is an answer about single accounts.
type Found struct {
	Accounts []*Account // in the order of the keys, nil where there is none
	Slot     uint64
	By       string // the URL of the endpoint that answered
}

// Find reads at most a hundred accounts by one question, from a node that has reached a slot. One answer is enough to
// say what is there; what is not there only Gone says.
func (c *Client) Find(ctx context.Context, keys []solana.PublicKey, at Commitment, since uint64) (Found, error) {
	return c.accounts(ctx, keys, at, since, nil)
}

// FindTwice is Find that asks once more, of another endpoint where one answers, about accounts that are missing.
func (c *Client) FindTwice(ctx context.Context, keys []solana.PublicKey, at Commitment, since uint64) (Found, error) {
	out, err := c.accounts(ctx, keys, at, since, nil)
	if err != nil {
		return Found{}, err
	}
	return c.again(ctx, out, keys, at, since, out.By, func(a *Account) bool { return a != nil })
}

// again asks once more, of another endpoint than by names, about the accounts of an answer that are not there.
func (c *Client) again(ctx context.Context, out Found, keys []solana.PublicKey, at Commitment, since uint64, by string, there func(*Account) bool) (Found, error) {
	var doubted []solana.PublicKey
	var places []int
	for i, a := range out.Accounts {
		if !there(a) {
			doubted, places = append(doubted, keys[i]), append(places, i)
		}
	}
	if len(doubted) == 0 {
		return out, nil
	}
	second, err := c.elsewhere(ctx, doubted, at, since, out.Slot, by, there)
	if err != nil {
		return Found{}, err
	}
	if out.Slot == 0 {
		out.Slot, out.By = second.Slot, second.By
	}
	for i, place := range places {
		out.Accounts[place] = nil
		if a := second.Accounts[i]; there(a) {
			out.Accounts[place] = a
		}
	}
	return out, nil
}

// accounts reads at most a hundred accounts by one call.
func (c *Client) accounts(ctx context.Context, keys []solana.PublicKey, level Commitment, since uint64, avoid []string) (Found, error) {
	p := accountParam(level)
	if since > 0 {
		p["minContextSlot"] = since
	}
	var f Found
	_, by, err := ask(ctx, c, avoid, func(a *at[list[*accountJSON]]) error {
		if len(a.Value) != len(keys) {
			return wrong("it is not about all accounts that were asked for")
		}
		if err := placed(a); err != nil {
			return err
		}
		if a.slot() < since {
			return &RPCError{Method: "getMultipleAccounts", Code: CodeSlotNotReached, Message: fmt.Sprintf("the answer is of slot %d, asked for was %d", a.slot(), since)}
		}
		f.Slot, f.Accounts = a.slot(), make([]*Account, len(keys))
		for i, v := range a.Value {
			if v == nil {
				continue
			}
			acc, err := v.account(keys[i], f.Slot)
			if err != nil {
				return err
			}
			f.Accounts[i] = &acc
		}
		return nil
	}, "getMultipleAccounts", keys, p)
	if err != nil {
		return Found{}, err
	}
	f.By = by
	return f, nil
}

// Gone asks accounts of a program, at most a hundred that were there at a slot, whether they are gone. Only those are
// nil in its answer of which two answers say so, none of them older than that slot. The second one is of another
// endpoint where one answers; by names the endpoint that has said it already of all of them, if one has.
//
// A node that is behind the slot does not answer: CodeSlotNotReached.
func (c *Client) Gone(ctx context.Context, keys []solana.PublicKey, program solana.PublicKey, at Commitment, since uint64, by string) (Found, error) {
	out := Found{Accounts: make([]*Account, len(keys))}
	if by == "" {
		var err error
		if out, err = c.accounts(ctx, keys, at, since, nil); err != nil {
			return Found{}, err
		}
		by = out.By
	}
	return c.again(ctx, out, keys, at, since, by, func(a *Account) bool {
		return a != nil && a.Owner == program && a.Lamports > 0
	})
}

// otherWait is how long Gone waits for another endpoint that is behind the first.
const otherWait = 2 * time.Second

// elsewhere reads accounts from another endpoint than the one that is named, which has answered at a slot. Both answers count
// from since on. One that still shows an account, at a slot before the first answer's, settles nothing: it is waited for.
// So a node that names a slot which nobody reaches makes nothing gone. Only where no other answers the same is asked again.
func (c *Client) elsewhere(
	ctx context.Context, keys []solana.PublicKey, at Commitment, since, slot uint64, by string, there func(*Account) bool,
) (Found, error) {
	wait, cancel := context.WithTimeout(ctx, otherWait)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		got, err := c.accounts(ctx, keys, at, since, []string{by})
		switch {
		case err == nil && got.Slot < slot && slices.ContainsFunc(got.Accounts, there):
			err = &RPCError{Method: "getMultipleAccounts", Code: CodeSlotNotReached, Message: fmt.Sprintf(
				"%s shows an account at slot %d that %s does not show at slot %d", NameOf(got.By), got.Slot, NameOf(by), slot)}
		case err == nil && got.By == by && c.anyBehind(by):
		case !IsCode(err, CodeSlotNotReached):
			return got, err
		}
		select {
		case <-time.After(pause):
		case <-wait.Done():
			return got, errors.Join(err, ctx.Err())
		}
	}
}

// anyBehind reports whether another node than the one that is named has not reached a slot that it was asked for.
func (c *Client) anyBehind(except string) bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.ep.RPC != except && IsCode(n.lastErr, CodeSlotNotReached)
	})
}
