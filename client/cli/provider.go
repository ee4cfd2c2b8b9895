package cli

import (
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func providerCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "provider", Usage: "your side as an owner of machines",
		Subcommands: []*cli.Command{
			{Name: "register", Usage: "become a provider", Action: action(s, (*session).providerRegister)},
			{Name: "stake", Usage: "add GNT of your wallet as stake", ArgsUsage: "AMOUNT", Action: action(s, (*session).providerStake)},
			{Name: "unstake", Usage: "ask stake back that no node needs; it waits out the cooldown", ArgsUsage: "AMOUNT", Action: action(s, (*session).providerUnstake)},
			{Name: "withdraw", Usage: "take out stake whose cooldown has passed", Action: action(s, (*session).providerWithdraw)},
			{Name: "payout", Usage: "send earnings to another USDC account of your wallet", ArgsUsage: "TOKEN_ACCOUNT", Action: action(s, (*session).providerPayout)},
			{Name: "show", Usage: "stake, nodes and faults", ArgsUsage: "[WALLET]", Action: action(s, (*session).providerShow)},
			{Name: "close", Usage: "leave, with the rent", Action: action(s, (*session).providerClose)},
		},
	}}
}

// providerJSON is a provider as printed.
type providerJSON struct {
	service.ProviderAccount
	Exists bool  `json:"exists"`
	Tx     *sent `json:"transaction,omitempty"`
}

func (s *session) provider(wallet solana.PublicKey) (market.Provider, bool, error) {
	return query.Find[market.Provider](s.ctx, s.client, market.ProviderAddress(wallet), s.waitLevel())
}

// mustProvider is provider with an error for wallets that are none.
func (s *session) mustProvider(wallet solana.PublicKey) (market.Provider, error) {
	p, ok, err := s.provider(wallet)
	if err == nil && !ok {
		err = refused(fmt.Sprintf("wallet %s is not a provider", wallet), "become one with: gantry provider register")
	}
	return p, err
}

func (s *session) providerDone(wallet solana.PublicKey, kind, what string, ixs []solana.Instruction, err error) error {
	if err != nil {
		return err
	}
	tx, err := s.send(kind, ixs)
	if err != nil {
		return err
	}
	p, exists, err := s.provider(wallet)
	if err != nil {
		return err
	}
	j := providerJSON{service.DescribeProvider(wallet, &p, exists), exists, &tx}
	return s.done(j, func(w io.Writer) {
		fmt.Fprintf(w, "%s   stake %s, locked %s, unstaking %s GNT   tx %s\n", what, j.Stake, j.Locked, j.Unstaking, tx.Signature)
	})
}

func (s *session) providerRegister() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	wallet := key.PublicKey()
	if _, exists, err := s.provider(wallet); err != nil {
		return err
	} else if exists {
		return refused(fmt.Sprintf("wallet %s is a provider already", wallet), "see: gantry provider show")
	}
	instruction, err := ix.ProviderRegister(ix.ProviderRegisterArgs{Wallet: wallet, PaymentMint: mk.PaymentMint, StakeMint: mk.StakeMint})
	return s.providerDone(wallet, "provider_register", "registered",
		[]solana.Instruction{ix.CreateTokenAccount(wallet, wallet, mk.PaymentMint), instruction}, err)
}

func (s *session) gntArg() (market.GNT, error) {
	args, err := s.args("AMOUNT")
	if err != nil {
		return 0, err
	}
	amount, err := market.ParseGNT(args[0])
	if err == nil && amount == 0 {
		err = usage("an amount of 0 moves nothing", "give an amount such as 100")
	}
	return amount, err
}

func (s *session) providerStake() error {
	amount, err := s.gntArg()
	if err != nil {
		return err
	}
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	wallet := key.PublicKey()
	if _, err := s.mustProvider(wallet); err != nil {
		return err
	}
	if err := s.enoughGNT("stake", wallet, mk.StakeMint, amount); err != nil {
		return err
	}
	if err := s.confirm("stake    %s GNT of the wallet; they can be slashed, and come back %s after you ask for them", amount, market.Seconds(mk.Params.UnstakeCooldownSecs)); err != nil {
		return err
	}
	instruction, err := ix.ProviderStake(ix.ProviderStakeArgs{Wallet: wallet, StakeMint: mk.StakeMint, Amount: amount})
	return s.providerDone(wallet, "provider_stake", fmt.Sprintf("staked %s GNT", amount), []solana.Instruction{instruction}, err)
}

func (s *session) enoughGNT(what string, wallet, mint solana.PublicKey, amount market.GNT) error {
	have, err := s.tokenBalance(market.TokenAddress(wallet, mint))
	if err == nil && have < uint64(amount) {
		err = refused(fmt.Sprintf("%s refused: %s GNT asked, the wallet %s holds %s", what, amount, wallet, market.GNT(have)),
			fmt.Sprintf("send %s GNT (mint %s) to it first", amount-market.GNT(have), mint))
	}
	return err
}

func (s *session) providerUnstake() error {
	amount, err := s.gntArg()
	if err != nil {
		return err
	}
	_, key, err := s.open()
	if err != nil {
		return err
	}
	p, err := s.mustProvider(key.PublicKey())
	if err != nil {
		return err
	}
	if free := market.GNT(p.Stake - min(p.Stake, p.LockedStake)); amount > free {
		return refused(fmt.Sprintf("unstake refused: %s GNT asked, %s not needed by your nodes", amount, free), "retire and close nodes first: gantry node list")
	}
	instruction, err := ix.ProviderRequestUnstake(ix.ProviderRequestUnstakeArgs{Wallet: key.PublicKey(), Amount: amount})
	return s.providerDone(key.PublicKey(), "provider_request_unstake", fmt.Sprintf("asked %s GNT back", amount), []solana.Instruction{instruction}, err)
}

func (s *session) providerWithdraw() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	wallet := key.PublicKey()
	p, err := s.mustProvider(wallet)
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	switch {
	case p.Unstaking == 0:
		return refused("nothing is on its way out", "ask stake back first with: gantry provider unstake AMOUNT")
	case now < p.UnstakeAt:
		return refused(fmt.Sprintf("the cooldown runs until %s UTC, %s more", when(p.UnstakeAt), span(p.UnstakeAt-now)), "come back then")
	}
	instruction, err := ix.ProviderWithdrawStake(ix.WithdrawStakeArgs{Wallet: wallet, StakeMint: mk.StakeMint})
	return s.providerDone(wallet, "provider_withdraw_stake", fmt.Sprintf("withdrew %s GNT", market.GNT(p.Unstaking)),
		[]solana.Instruction{ix.CreateTokenAccount(wallet, wallet, mk.StakeMint), instruction}, err)
}

func (s *session) providerPayout() error {
	args, err := s.args("TOKEN_ACCOUNT")
	if err != nil {
		return err
	}
	to, err := address(args[0], "token account")
	if err != nil {
		return err
	}
	_, key, err := s.open()
	if err != nil {
		return err
	}
	if _, err := s.mustProvider(key.PublicKey()); err != nil {
		return err
	}
	instruction, err := ix.ProviderSetPayout(ix.ProviderSetPayoutArgs{Wallet: key.PublicKey(), Payout: to})
	return s.providerDone(key.PublicKey(), "provider_set_payout", "earnings go to "+to.String(), []solana.Instruction{instruction}, err)
}

func (s *session) providerShow() error {
	wallet, err := s.walletArg()
	if err != nil {
		return err
	}
	if _, err := s.market(); err != nil {
		return err
	}
	j, err := s.service.Provider(s.ctx, wallet)
	if err != nil {
		return err
	}
	return s.done(j, func(w io.Writer) {
		pairs(w, [2]string{"wallet", j.Wallet}, [2]string{"account", j.Account}, [2]string{"earnings go to", j.Payout},
			[2]string{"stake", j.Stake + " GNT"}, [2]string{"locked stake", j.Locked + " GNT"},
			[2]string{"unstaking", j.Unstaking + " GNT, free at " + when(j.UnstakeAt)}, [2]string{"slashed so far", j.Slashed + " GNT"},
			[2]string{"nodes", fmt.Sprint(j.Nodes)}, [2]string{"running leases", fmt.Sprint(j.Leases)}, [2]string{"pending faults", fmt.Sprint(j.Faults)},
			[2]string{"earned", fmt.Sprintf("%s USDC settled, %s claimed, at most %s more; of leases that are not closed", j.Earned.Settled, j.Earned.Claimed, j.Earned.Unclaimed)})
		for _, m := range j.Machines {
			fmt.Fprintf(w, "node %s   %d×%s   %s   tier %d   %s USDC per GPU-hour   %s\n", m.Address, m.GPUs, m.Model, m.Status, m.Tier, m.Price, plural(len(m.Leases), "open lease"))
			for _, d := range m.ToDo {
				fmt.Fprintf(w, "  to do  %s: %s\n", d.What, d.Do)
			}
		}
	})
}

// walletArg is the wallet that a command is about: the argument, or one's own.
func (s *session) walletArg() (solana.PublicKey, error) {
	if s.cli.NArg() > 1 {
		return solana.PublicKey{}, usage(fmt.Sprintf("%q is one argument too many", s.cli.Args().Get(1)), "")
	}
	if text := s.cli.Args().First(); text != "" {
		return address(text, "wallet")
	}
	key, err := s.wallet()
	if err != nil {
		return solana.PublicKey{}, err
	}
	return key.PublicKey(), nil
}

func (s *session) providerClose() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	wallet := key.PublicKey()
	if _, err := s.mustProvider(wallet); err != nil {
		return err
	}
	instruction, err := ix.ProviderClose(ix.WithdrawStakeArgs{Wallet: wallet, StakeMint: mk.StakeMint})
	return s.providerDone(wallet, "provider_close", "closed; the rent is back in your wallet",
		[]solana.Instruction{ix.CreateTokenAccount(wallet, wallet, mk.StakeMint), instruction}, err)
}
