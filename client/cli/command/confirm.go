package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
)

// asked are the transactions that move or bind money. send refuses one of them to which the user has not agreed.
var asked = []string{
	"credits_deposit", "credits_withdraw", "order_create", "order_reopen", "lease_extend", "dispute_open",
	"provider_stake", "keeper_register", "rewards_buy_back",
}

// errNotAsked is a command that would move money without having said how much. It is a fault of this program.
var errNotAsked = errors.New("this command moves money and has not said how much")

// Confirm shows what is about to happen to whose money on which cluster, and asks. In a dry run nothing happens, so
// nothing is asked.
func (s *Session) Confirm(format string, args ...any) error {
	if s.DryRun {
		return nil
	}
	genesis, err := s.Client.Genesis(s.Context)
	if err != nil {
		return err
	}
	key, err := s.Wallet()
	if err != nil {
		return err
	}
	s.Aside()
	what := fmt.Sprintf(format, args...)
	s.Say(" · %s", what)
	s.Say(" · cluster  %s (genesis %.8s…)   wallet %s", chain.ClusterOf(genesis), genesis, key.PublicKey())
	if s.yes || s.browser != nil { // who signs in a browser agrees there
		s.agreed = true
		return nil
	}
	if !s.Terminal {
		return service.Usage("nobody can be asked: this is not a terminal, and --yes is not given", "scripts agree with --yes; nothing was sent")
	}
	fmt.Fprint(s.Err, "continue? [y/N] ")
	line, err := s.answer()
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))) {
		return service.Interrupted("not confirmed", "nothing was sent")
	}
	s.agreed = true
	return nil
}

// answer reads a line, unless the command is interrupted first.
func (s *Session) answer() (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() { // ends with the process if the user does not answer: a read of a terminal cannot be broken off
		line, err := bufio.NewReader(s.In).ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case <-s.Context.Done():
		return "", service.Interrupted("interrupted before anything was sent", "nothing has changed")
	case r := <-got:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", fmt.Errorf("read your answer: %w", r.err)
		}
		return r.line, nil
	}
}

// agreedTo reports an error for a transaction that moves money and was not confirmed.
func (s *Session) agreedTo(kind string) error {
	if slices.Contains(asked, kind) && !s.agreed && !s.DryRun {
		return fmt.Errorf("%s: %w", kind, errNotAsked)
	}
	return nil
}
