package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// state is the moment of which accounts are shown at the commitment that is asked for: what was confirmed up to a slot is
// what is final once that slot is.
func (r reader) state() (*moment, accountConfig, error) {
	c, err := r.config()
	if err != nil {
		return nil, c, err
	}
	if c.Encoding != "base64" && r.req.Method != "getBalance" {
		return nil, c, &refusal{Code: codeInvalidParams, Message: fmt.Sprintf("Invalid params: the proxy shows the past in base64 only, not %q", c.Encoding)}
	}
	m := r.m
	if level(c.Commitment) == len(levels)-1 {
		m = r.p.node.Past.upTo(r.m.slots[len(levels)-1])
	}
	if c.MinContextSlot != nil && *c.MinContextSlot > m.slot {
		return nil, c, behind(m.slot)
	}
	return m, c, nil
}

// accounts finds accounts of a moment. Those that were not recorded are recorded from now on: what the node has now is
// shown, but for accounts that a recorded program has now and did not have then.
func (r reader) accounts(ctx context.Context, m *moment, keys []string) ([]*account, error) {
	out := make([]*account, len(keys))
	var unknown []string
	for i, key := range keys {
		var known bool
		if out[i], known = m.find(key); !known {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return out, nil
	}
	r.p.node.Past.want(unknown...)
	var now struct {
		Context slotContext       `json:"context"`
		Value   []json.RawMessage `json:"value"`
	}
	if err := r.p.up.call(ctx, &now, "getMultipleAccounts", unknown, map[string]any{"encoding": "base64", "commitment": confirmed}); err != nil {
		return nil, err
	}
	if len(now.Value) != len(unknown) {
		return nil, fmt.Errorf("getMultipleAccounts: %d answers to %d keys", len(now.Value), len(unknown))
	}
	for i, key := range unknown {
		a, err := newAccount(now.Value[i], nil)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", key, err)
		}
		if a == nil || m.programs[a.owner()] != nil {
			continue
		}
		for j := range keys {
			if keys[j] == key {
				out[j] = a
			}
		}
	}
	return out, nil
}

// withContext is a result with the slot that it is of.
func withContext(m *moment, value any) any {
	return map[string]any{"context": slotContext{m.slot}, "value": value}
}

func (r reader) accountInfo(ctx context.Context) (any, error) {
	m, c, a, err := r.one(ctx)
	if err != nil {
		return nil, err
	}
	return withContext(m, c.show(a)), nil
}

func (r reader) balance(ctx context.Context) (any, error) {
	m, _, a, err := r.one(ctx)
	if err != nil {
		return nil, err
	}
	lamports := json.RawMessage("0")
	if a != nil {
		lamports = a.meta["lamports"]
	}
	return withContext(m, lamports), nil
}

func (r reader) one(ctx context.Context) (*moment, accountConfig, *account, error) {
	var key string
	m, c, err := r.state()
	if err == nil {
		err = r.param(0, &key)
	}
	if err != nil {
		return nil, c, nil, err
	}
	all, err := r.accounts(ctx, m, []string{key})
	if err != nil {
		return nil, c, nil, err
	}
	return m, c, all[0], nil
}

func (r reader) multipleAccounts(ctx context.Context) (any, error) {
	m, c, err := r.state()
	if err != nil {
		return nil, err
	}
	var keys []string
	if err := r.param(0, &keys); err != nil {
		return nil, err
	}
	all, err := r.accounts(ctx, m, keys)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(all))
	for i, a := range all {
		out[i] = c.show(a)
	}
	return withContext(m, out), nil
}

// keyed is an account in a list.
type keyed struct {
	Pubkey  string `json:"pubkey"`
	Account any    `json:"account"`
}

func (r reader) programAccounts(context.Context) (any, error) {
	m, c, err := r.state()
	if err != nil {
		return nil, err
	}
	var program string
	if err := r.param(0, &program); err != nil {
		return nil, err
	}
	all, ok := m.programs[program]
	if !ok {
		return nil, &refusal{Code: codeInternal, Message: "the proxy does not record the accounts of " + program + ": name it in the History"}
	}
	list := []keyed{}
	for key, a := range all {
		pass, err := c.pass(a.data)
		if err != nil {
			return nil, &refusal{Code: codeInvalidParams, Message: "Invalid params: " + err.Error()}
		}
		if pass {
			list = append(list, keyed{key, c.show(a)})
		}
	}
	slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.Pubkey, b.Pubkey) })
	if c.WithContext {
		return withContext(m, list), nil
	}
	return list, nil
}
