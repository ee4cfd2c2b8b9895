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

func keeperCommands(s Streams) []*cli.Command {
	addr := &cli.StringFlag{Name: "addr", Usage: "libp2p `ADDRESS`, such as /ip4/203.0.113.7/tcp/4001"}
	return []*cli.Command{{
		Name: "keeper", Usage: "keepers (gantry-keeper runs one)",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "all keepers", Action: action(s, (*session).keepers)},
			{Name: "show", Usage: "one keeper", ArgsUsage: "[WALLET]", Action: action(s, (*session).keeperShow)},
			{
				Name: "register", Usage: "bond your wallet as a keeper",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "bond", Usage: "`GNT`"}, addr},
				Action: action(s, (*session).keeperRegister),
			},
			{Name: "activate", Usage: "let your keeper's weight count after its delay", Action: action(s, (*session).keeperActivate)},
			{Name: "update", Usage: "say where your keeper is", Flags: []cli.Flag{addr}, Action: action(s, (*session).keeperUpdate)},
			{
				Name: "vote-dispute", Usage: "say whether a lease's dispute is right; a vote stands", ArgsUsage: "LEASE",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "uphold", Usage: "for the customer"}, &cli.BoolFlag{Name: "reject", Usage: "against it"},
				},
				Action: action(s, (*session).keeperVoteDispute),
			},
			{Name: "exit", Usage: "stop voting; the bond is free after the exit time", Action: action(s, (*session).keeperExit)},
			{Name: "withdraw", Usage: "take the bond after the exit time", Action: action(s, (*session).keeperWithdraw)},
		},
	}}
}

func (s *session) keepers() error {
	if _, err := s.args(); err != nil {
		return err
	}
	v, err := s.snapshot(only(market.KindKeeper))
	if err != nil {
		return err
	}
	out := []service.Keeper{}
	mk, _ := v.Market()
	for _, k := range v.Keepers() {
		out = append(out, service.DescribeKeeper(&mk, &k))
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no keepers")
			return
		}
		rows := make([][]string, len(out))
		for i, k := range out {
			rows[i] = []string{fmt.Sprint(k.Index), k.Wallet, k.Status, k.Bond, k.Weight, fmt.Sprint(k.Votes), fmt.Sprint(k.Misses), k.Addr}
		}
		table(w, "#|WALLET|STATUS|BOND|WEIGHT|VOTES|MISSES|ADDRESS", rows)
	})
}

func (s *session) mustKeeper(wallet solana.PublicKey) (market.Keeper, error) {
	if _, err := s.market(); err != nil {
		return market.Keeper{}, err
	}
	k, ok, err := query.Find[market.Keeper](s.ctx, s.client, market.KeeperAddress(wallet), s.waitLevel())
	if err == nil && !ok {
		err = refused(fmt.Sprintf("wallet %s is not a keeper", wallet), "become one with: gantry keeper register --bond GNT --addr ADDRESS")
	}
	return k, err
}

// signedFor finds the keeper for which a key signs: the wallet's own, or the one whose wallet has named the key.
func (s *session) signedFor(key solana.PublicKey) (market.Keeper, error) {
	if _, err := s.market(); err != nil {
		return market.Keeper{}, err
	}
	k, ok, err := query.Find[market.Keeper](s.ctx, s.client, market.KeeperAddress(key), s.waitLevel())
	switch {
	case err != nil || ok && k.SigningKey() == key:
		return k, err
	case ok:
		return k, refused(fmt.Sprintf("keeper %s is signed for by %s, not by its wallet", k.Wallet, k.SigningKey()), "give --keypair with that key's file")
	}
	all, err := query.Select[market.Keeper](s.ctx, s.client, query.KeepersSignedBy(key), s.waitLevel())
	if err != nil || len(all) == 1 {
		return first(all), err
	}
	return s.mustKeeper(key)
}

// first is the first of some keepers; none of none.
func first(all []market.Keeper) (k market.Keeper) {
	if len(all) > 0 {
		k = all[0]
	}
	return k
}

func (s *session) keeperShow() error {
	wallet, err := s.walletArg()
	if err != nil {
		return err
	}
	k, err := s.mustKeeper(wallet)
	if err != nil {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	j := service.DescribeKeeper(&mk, &k)
	return s.done(j, func(w io.Writer) {
		pairs(w, [2]string{"wallet", j.Wallet}, [2]string{"signer", j.Signer}, [2]string{"account", j.Account}, [2]string{"status", j.Status}, [2]string{"bond", j.Bond + " GNT"},
			[2]string{"weight", j.Weight + " GNT"}, [2]string{"votes", fmt.Sprintf("%d, %d missed, last in period %d", j.Votes, j.Misses, j.LastVote)},
			[2]string{"idle", idleness(&mk, &k)},
			[2]string{"address", j.Addr}, [2]string{"registered", when(j.Registered) + " UTC"}, [2]string{"active since", when(j.Active)}, [2]string{"exit at", when(j.ExitAt)})
		if j.SignerUntil != 0 {
			pairs(w, [2]string{"former", fmt.Sprintf("%s, for which the bond answers until %s UTC", j.FormerSigner, when(j.SignerUntil))})
		}
		if j.PaidOutAt != 0 {
			pairs(w, [2]string{"slashed", fmt.Sprintf("%s GNT of the bond went to finders, the last at %s UTC", j.PaidOut, when(j.PaidOutAt))})
		}
	})
}

// idleness says how near a keeper is to losing its weight for not voting, or that it has lost it.
func idleness(mk *market.Market, k *market.Keeper) string {
	switch missed := k.MissedReports(mk); {
	case k.State() == market.KeeperPending && k.PendingSince != k.RegisteredAt:
		return fmt.Sprintf("suspended %s UTC for not voting; its wallet may activate it from %s UTC on", when(k.PendingSince), when(k.PendingSince+int64(mk.Params.KeeperActivationSecs)))
	case missed == 0:
		return "no"
	default:
		return fmt.Sprintf("%d final reports without its vote; above %d anyone may suspend it", missed, market.IdleReports)
	}
}

// keeperTx is the result of a transaction about a keeper.
type keeperTx struct {
	Wallet string `json:"wallet"`
	Tx     sent   `json:"transaction"`
}

func (s *session) keeperDone(wallet solana.PublicKey, kind, what string, ixs []solana.Instruction, err error) error {
	if err != nil {
		return err
	}
	tx, err := s.send(kind, ixs)
	if err != nil {
		return err
	}
	return s.done(keeperTx{wallet.String(), tx}, func(w io.Writer) { fmt.Fprintf(w, "keeper %s %s   tx %s\n", wallet, what, tx.Signature) })
}

func (s *session) keeperRegister() error {
	if _, err := s.args(); err != nil {
		return err
	}
	bond, err := market.ParseGNT(s.cli.String("bond"))
	if err != nil {
		return usage("--bond: "+err.Error(), "")
	}
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	if uint64(bond) < mk.Params.MinBond {
		return refused(fmt.Sprintf("bond refused: %s GNT, the smallest bond is %s", bond, market.GNT(mk.Params.MinBond)), "bond more")
	}
	wallet := key.PublicKey()
	if err := s.enoughGNT("bond", wallet, mk.StakeMint, bond); err != nil {
		return err
	}
	instruction, err := ix.KeeperRegister(ix.KeeperRegisterArgs{Wallet: wallet, StakeMint: mk.StakeMint, Bond: bond, Multiaddr: s.cli.String("addr")})
	if err != nil {
		return err
	}
	if err := s.confirm("bond     %s GNT of the wallet; it can be slashed, and comes back %s after the exit", bond, market.Seconds(mk.Params.KeeperExitSecs)); err != nil {
		return err
	}
	return s.keeperDone(wallet, "keeper_register", fmt.Sprintf("bonded %s GNT; activate it in %s", bond, market.Seconds(mk.Params.KeeperActivationSecs)), []solana.Instruction{instruction}, err)
}

func (s *session) keeperActivate() error {
	if _, err := s.args(); err != nil {
		return err
	}
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	k, err := s.signedFor(key.PublicKey())
	if err != nil {
		return err
	}
	wallet := k.Wallet
	now, err := s.now()
	if err != nil {
		return err
	}
	at := k.PendingSince + int64(mk.Params.KeeperActivationSecs)
	switch {
	case k.State() != market.KeeperPending:
		return refused(fmt.Sprintf("keeper %s is %s", wallet, k.State()), "nothing is left to do")
	case now < at:
		return refused(fmt.Sprintf("keeper %s can be activated at %s UTC, in %s", wallet, when(at), span(at-now)), "come back then")
	}
	instruction, err := ix.KeeperActivateBy(wallet, key.PublicKey())
	return s.keeperDone(wallet, "keeper_activate", "is active", []solana.Instruction{instruction}, err)
}

func (s *session) keeperUpdate() error {
	if _, err := s.args(); err != nil {
		return err
	}
	key, err := s.wallet()
	if err != nil {
		return err
	}
	if _, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: key.PublicKey(), Multiaddr: s.cli.String("addr")}); err != nil {
		return err
	}
	k, err := s.signedFor(key.PublicKey())
	if err != nil {
		return err
	}
	instruction, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: k.Wallet, Signer: key.PublicKey(), Multiaddr: s.cli.String("addr")})
	if err != nil {
		return err
	}
	return s.keeperDone(k.Wallet, "keeper_update", "is at "+s.cli.String("addr"), []solana.Instruction{instruction}, nil)
}

func (s *session) keeperExit() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	if _, err := s.mustKeeper(key.PublicKey()); err != nil {
		return err
	}
	instruction, err := ix.KeeperRequestExit(key.PublicKey())
	return s.keeperDone(key.PublicKey(), "keeper_request_exit", fmt.Sprintf("leaves; its bond is free in %s", market.Seconds(mk.Params.KeeperExitSecs)), []solana.Instruction{instruction}, err)
}

func (s *session) keeperWithdraw() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	wallet := key.PublicKey()
	k, err := s.mustKeeper(wallet)
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	switch {
	case k.State() != market.KeeperExiting:
		return refused(fmt.Sprintf("keeper %s is %s", wallet, k.State()), "leave first with: gantry keeper exit")
	case now < k.ExitAt:
		return refused(fmt.Sprintf("the bond is free at %s UTC, in %s", when(k.ExitAt), span(k.ExitAt-now)), "come back then")
	case k.Earned > 0:
		return refused(fmt.Sprintf("keeper %s has %s USDC to claim first", wallet, market.USDC(k.Earned).Exact()), "claim them with: gantry rewards claim")
	}
	instruction, err := ix.KeeperWithdraw(ix.WithdrawStakeArgs{Wallet: wallet, StakeMint: mk.StakeMint})
	return s.keeperDone(wallet, "keeper_withdraw", "has left; bond and rent are back in the wallet",
		[]solana.Instruction{ix.CreateTokenAccount(wallet, wallet, mk.StakeMint), instruction}, err)
}
