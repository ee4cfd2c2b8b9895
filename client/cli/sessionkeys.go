package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Flags with which a session key acts in place of the customer's wallet.
const (
	flagSession  = "session"
	flagCustomer = "customer"
)

// asSession adds them to the flags of a command that session keys may use.
func asSession(flags ...cli.Flag) []cli.Flag {
	return append(flags,
		&cli.StringFlag{Name: flagSession, Usage: "keypair `FILE` of a session key that acts for its customer", EnvVars: []string{"GANTRY_SESSION"}},
		&cli.StringFlag{Name: flagCustomer, Usage: "`WALLET` that the session key acts for (default: the one that names it)"},
	)
}

func sessionKeyCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "session", Usage: "keys that spend your credits up to a cap, for programs that buy compute",
		Description: "A session key orders, extends and ends leases and signs receipts for you, and reserves at most its cap in total, until\n" +
			"it expires. It never withdraws, rates, disputes or names keys. It pays fees and rent itself, so it needs some SOL.\n" +
			"Use it with --session FILE on deploy, leases, logs, stop, extend and order.",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "name a key, or change its cap and expiry", ArgsUsage: "KEY|FILE",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "cap", Usage: "the most `USDC` that it may reserve in total"},
					&cli.DurationFlag{Name: "expires", Value: 24 * time.Hour, Usage: "`TIME` from now on"},
					&cli.StringFlag{Name: "fund", Usage: "`SOL` to send it for fees and rent"},
				},
				Action: action(s, (*session).sessionAdd),
			},
			{Name: "list", Usage: "the keys of your wallet, or of another", ArgsUsage: "[WALLET]", Action: action(s, (*session).sessionList)},
			{Name: "remove", Usage: "take a key's powers back", ArgsUsage: "KEY|FILE", Action: action(s, (*session).sessionRemove)},
		},
	}}
}

// keyOrFile reads an address, or the public key of a keypair file.
func keyOrFile(text string) (solana.PublicKey, error) {
	if key, err := solana.PublicKeyFromBase58(text); err == nil {
		return key, nil
	}
	if _, err := os.Stat(text); err != nil {
		return solana.PublicKey{}, usage(fmt.Sprintf("%q is neither an address nor a keypair file", text), "make one with: gantry key new session.json")
	}
	key, err := chain.LoadKeypair(text)
	return key.PublicKey(), err
}

func (s *session) sessionAdd() error {
	args, err := s.args("KEY|FILE")
	if err != nil {
		return err
	}
	key, err := keyOrFile(args[0])
	if err != nil {
		return err
	}
	if s.cli.String("cap") == "" {
		return usage("--cap is missing", "give the most USDC that the key may reserve, such as --cap 25")
	}
	most, err := market.ParseUSDC(s.cli.String("cap"))
	if err != nil || most == 0 {
		return usage(fmt.Sprintf("--cap %s is not an amount of USDC", s.cli.String("cap")), "such as --cap 25; to take a key back: gantry session remove")
	}
	lasts := s.cli.Duration("expires")
	if lasts < time.Second {
		return usage(fmt.Sprintf("--expires %s is over at once", lasts), "such as --expires 24h")
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	_, wallet, err := s.open()
	if err != nil {
		return err
	}
	set, err := ix.CreditsSetSessionKey(ix.SessionKeyArgs{
		Customer: wallet.PublicKey(), Key: key, Cap: most, Expiry: now + int64(lasts/time.Second),
	})
	if err != nil {
		return err
	}
	ixs := []solana.Instruction{set}
	var funded string
	if text := s.cli.String("fund"); text != "" {
		sol, err := chain.ParseSOL(text)
		if err != nil {
			return usage("--fund: "+err.Error(), "such as --fund 0.05")
		}
		funded = fmt.Sprintf(", and gets %s SOL of the wallet", text)
		ixs = append(ixs, system.NewTransferInstruction(uint64(sol), wallet.PublicKey(), key).Build())
	}
	if err := s.confirm("session  key %s may reserve %s USDC of the credits in total%s", key, most, funded); err != nil {
		return err
	}
	return s.sessionDone(wallet.PublicKey(), ixs, fmt.Sprintf("session key %s may reserve %s USDC until %s UTC", key, most, service.When(now+int64(lasts/time.Second))))
}

func (s *session) sessionRemove() error {
	args, err := s.args("KEY|FILE")
	if err != nil {
		return err
	}
	key, err := keyOrFile(args[0])
	if err != nil {
		return err
	}
	_, wallet, err := s.open()
	if err != nil {
		return err
	}
	c, _, err := s.credits(wallet.PublicKey())
	if err != nil {
		return err
	}
	if _, ok := c.SessionKeyOf(key); !ok {
		return refused(fmt.Sprintf("%s is not a session key of %s", key, wallet.PublicKey()), "see: gantry session list")
	}
	instruction, err := ix.CreditsSetSessionKey(ix.SessionKeyArgs{Customer: wallet.PublicKey(), Key: key})
	if err != nil {
		return err
	}
	return s.sessionDone(wallet.PublicKey(), []solana.Instruction{instruction}, fmt.Sprintf("session key %s may do nothing any more; its leases run on", key))
}

func (s *session) sessionDone(customer solana.PublicKey, ixs []solana.Instruction, what string) error {
	tx, err := s.send("credits_set_session_key", ixs)
	if err != nil {
		return err
	}
	out, err := s.service.SessionKeys(s.ctx, customer, s.client.WaitLevel())
	if err != nil {
		return err
	}
	out.Tx = &tx
	return s.done(out, func(w io.Writer) { fmt.Fprintf(w, "%s   tx %s\n", what, tx.Signature) })
}

func (s *session) sessionList() error {
	var customer solana.PublicKey
	switch args := s.cli.Args().Slice(); len(args) {
	case 0:
		wallet, err := s.wallet()
		if err != nil {
			return err
		}
		customer = wallet.PublicKey()
	case 1:
		var err error
		if customer, err = address(args[0], "wallet"); err != nil {
			return err
		}
	default:
		return usage(fmt.Sprintf("%q is one argument too many", args[1]), "write: gantry session list [WALLET]")
	}
	if _, err := s.market(); err != nil {
		return err
	}
	out, err := s.service.SessionKeys(s.ctx, customer, s.client.WaitLevel())
	if err != nil {
		return err
	}
	return s.done(out, func(w io.Writer) {
		if len(out.Keys) == 0 {
			fmt.Fprintln(w, "no session keys; name one with: gantry session add KEY --cap USDC")
			return
		}
		rows := make([][]string, len(out.Keys))
		for i, k := range out.Keys {
			state := service.When(k.Expiry)
			if k.Expired {
				state += " (over)"
			}
			rows[i] = []string{k.Key, k.Cap, k.Spent, k.Left, state}
		}
		table(w, "KEY|CAP|SPENT|LEFT|UNTIL (UTC)", rows)
	})
}

// customer is whom the command acts for: the wallet, or the customer that has named the session key.
func (s *session) customer() (solana.PublicKey, error) {
	key, err := s.wallet()
	if err != nil || s.cli.String(flagSession) == "" {
		return key.PublicKey(), err
	}
	if !s.actsFor.IsZero() {
		return s.actsFor, nil
	}
	var named solana.PublicKey
	if text := s.cli.String(flagCustomer); text != "" {
		if named, err = address(text, "wallet"); err != nil {
			return named, err
		}
	}
	s.actsFor, err = s.service.CustomerOf(s.ctx, key.PublicKey(), named)
	return s.actsFor, err
}

// authority is who signs for the customer: zero when it does itself, as builders take it.
func (s *session) authority() (solana.PublicKey, error) {
	if s.cli.String(flagSession) == "" {
		return solana.PublicKey{}, nil
	}
	key, err := s.wallet()
	return key.PublicKey(), err
}
