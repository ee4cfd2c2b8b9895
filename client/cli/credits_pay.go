package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/market"
)

func creditsPayCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "pay", Usage: "deposit with a wallet on a phone: a Solana Pay link and its QR code", ArgsUsage: "AMOUNT",
		Description: "A server on this machine hands the wallet a deposit, which it signs and sends; the command ends when it is on chain. Only the\n" +
			"customer's own account gets it. Wallets ask HTTPS addresses alone: have a proxy with TLS lead --public-url to --listen, or give\n" +
			"--tls-cert and --tls-key that the wallet trusts. Without them, --transfer shows a link that sends USDC to the wallet itself.",
		Flags: []cli.Flag{
			publicURLFlag(),
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "`ADDRESS` and port that the proxy, or the wallet, asks"},
			&cli.StringFlag{Name: flagTLSCert, Usage: "`FILE` of a certificate for the host of --public-url"},
			&cli.StringFlag{Name: flagTLSKey, Usage: "`FILE` of its key"},
			&cli.StringFlag{Name: flagCustomer, Usage: "`WALLET` that pays and whose credits rise (default: that of your keypair file)"},
			&cli.DurationFlag{Name: "lasts", Value: 15 * time.Minute, Usage: "`TIME` that the link lasts, 1m to 1h"},
			&cli.StringFlag{Name: "qr-file", Usage: "write the QR code to this `FILE`, an .svg or a .png"},
			&cli.BoolFlag{Name: "transfer", Usage: "only show a link and a QR code that send USDC to the customer's wallet, from where `gantry credits add` deposits it"},
		},
		Action: action(s, (*session).creditsPay),
	}
}

// payJSON is what the command prints when the link works; with --transfer it is all.
type payJSON struct {
	Customer string `json:"customer"`
	Amount   string `json:"amount"`
	Link     string `json:"link"`
	Expires  int64  `json:"expires,omitempty"`
	QRFile   string `json:"qrFile,omitempty"`
}

func (s *session) creditsPay() error {
	args, err := s.args("AMOUNT")
	if err != nil {
		return err
	}
	amount, err := market.ParseUSDC(args[0])
	if err != nil {
		return err
	}
	if file := s.cli.String("qr-file"); file != "" && !strings.HasSuffix(file, ".svg") && !strings.HasSuffix(file, ".png") {
		return usage(fmt.Sprintf("--qr-file %q is neither an .svg nor a .png", file), "")
	}
	customer, err := s.payer()
	if err != nil {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	if s.cli.Bool("transfer") {
		link := solanapay.TransferLink(customer, mk.PaymentMint, amount, "USDC to your wallet")
		return s.showLink(payJSON{Customer: customer.String(), Amount: amount.String(), Link: link})
	}
	base, err := s.base()
	if err != nil {
		return err
	}
	if base == nil {
		return usage("--public-url is missing: wallets fetch the deposit from an https:// address", "see gantry credits pay --help; without one: gantry credits pay --transfer AMOUNT")
	}
	payments, err := s.payments(base, customer)
	if err != nil {
		return err
	}
	p, err := payments.Open(amount, s.cli.Duration("lasts"))
	if errors.Is(err, solanapay.ErrAmount) || errors.Is(err, solanapay.ErrLasts) {
		return usage(err.Error(), "")
	}
	if err != nil {
		return err
	}
	l, err := s.listen(false, "give a certificate with --tls-cert and --tls-key, or put a proxy with TLS on this machine") // what wallets sign passes there
	if err != nil {
		return err
	}
	if err := s.showLink(payJSON{Customer: p.Customer, Amount: p.Amount, Link: p.Link, Expires: p.Expires}); err != nil {
		return errors.Join(err, l.Close())
	}
	last, err := payments.Serve(s.ctx, l, p, base.Hostname(), func(e error) {
		if e != nil {
			s.say(" · the network does not answer: %v", e)
			return
		}
		s.say(" · a wallet has fetched the deposit; it is to be confirmed there")
	})
	switch {
	case s.ctx.Err() != nil:
		return interrupted("interrupted; the link works no more", "a deposit that is signed already may still take effect: gantry credits show")
	case err != nil:
		return err
	case last.State == solanapay.Expired:
		return refused("nobody has paid in time", "begin again with: gantry credits pay "+last.Amount)
	}
	fmt.Fprintf(s.err, " · paid     %s USDC are in the credits of %s   tx %s\n", last.Amount, last.Customer, last.Transaction)
	return nil
}

// payer is the account that is asked to pay.
func (s *session) payer() (solana.PublicKey, error) {
	return s.walletOr(s.cli.String(flagCustomer), "wallet")
}

// showLink prints a link with its QR code.
func (s *session) showLink(out payJSON) error {
	code, err := solanapay.NewQR(out.Link)
	if err != nil {
		return err
	}
	if out.QRFile = s.cli.String("qr-file"); out.QRFile != "" {
		picture := code.SVG()
		if strings.HasSuffix(out.QRFile, ".png") {
			if picture, err = code.PNG(8); err != nil {
				return err
			}
		}
		if err := atomicfile.Write(out.QRFile, picture); err != nil {
			return err
		}
	}
	return s.done(out, func(w io.Writer) {
		fmt.Fprint(w, code.Terminal())
		fmt.Fprintf(w, "link      %s\n", out.Link)
		fmt.Fprintf(w, "for       %s USDC of the wallet %s\n", out.Amount, out.Customer)
		if out.QRFile != "" {
			fmt.Fprintf(w, "QR code   %s\n", out.QRFile)
		}
	})
}
