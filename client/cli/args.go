package cli

import (
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// args returns exactly the arguments that a command needs; names are for the message.
func (s *session) args(names ...string) ([]string, error) {
	got := s.cli.Args().Slice()
	if len(got) == len(names) {
		return got, nil
	}
	form := s.cli.Command.HelpName
	if len(names) > 0 {
		form += " " + strings.Join(names, " ")
	}
	if len(got) > len(names) {
		return nil, usage(fmt.Sprintf("%q is one argument too many", got[len(names)]), "write: "+form)
	}
	return nil, usage(names[len(got)]+" is missing", "write: "+form)
}

// address reads a base58 address.
func address(text, what string) (solana.PublicKey, error) {
	key, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return key, usage(fmt.Sprintf("%q is not the address of a %s", text, what), "copy it in full from the command that listed it")
	}
	return key, nil
}

// pick finds an account by its address or by the first characters of it.
func pick(text, what string, among []solana.PublicKey) (solana.PublicKey, error) {
	return service.PickAddress(text, what, among)
}

func addresses[T any](all []T, of func(T) solana.PublicKey) []solana.PublicKey {
	out := make([]solana.PublicKey, len(all))
	for i, a := range all {
		out[i] = of(a)
	}
	return out
}

// lease finds a lease by address or beginning; the wallet's own leases come first when the beginning fits several.
func (s *session) lease(v *view.View, text string) (market.Lease, error) {
	all := v.Leases()
	var own []market.Lease
	if customer, err := s.customer(); err == nil {
		own = v.LeasesOfCustomer(customer)
	}
	at := func(l market.Lease) solana.PublicKey { return l.Address }
	key, err := pick(text, "lease", addresses(own, at))
	if err != nil {
		key, err = pick(text, "lease", addresses(all, at))
	}
	if err != nil {
		return market.Lease{}, err
	}
	l, ok := v.Lease(key)
	if !ok {
		return l, refused(fmt.Sprintf("lease %s does not exist (any more)", key), "its history is in: gantry audit "+key.String())
	}
	return l, nil
}

// tokenBalance is what a token account holds; 0 when it does not exist.
func (s *session) tokenBalance(account solana.PublicKey) (uint64, error) {
	return s.service.TokenBalance(s.ctx, account)
}
