package rent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/server"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/market"
)

// Flags for TLS.
const (
	flagTLSCert = "tls-cert"
	flagTLSKey  = "tls-key"
)

func creditsPayCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "pay", Usage: "deposit with a wallet on a phone: a Solana Pay link and its QR code", ArgsUsage: "AMOUNT",
		Description: "A server on this machine hands the wallet a deposit, which it signs and sends; the command ends when it is on chain. Only the\n" +
			"customer's own account gets it. Wallets ask HTTPS addresses alone: have a proxy with TLS lead --public-url to --listen, or give\n" +
			"--tls-cert and --tls-key that the wallet trusts. Without them, --transfer shows a link that sends USDC to the wallet itself.",
		Flags: []cli.Flag{
			command.PublicURLFlag(),
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "`ADDRESS` and port that the proxy, or the wallet, asks"},
			&cli.StringFlag{Name: flagTLSCert, Usage: "`FILE` of a certificate for the host of --public-url"},
			&cli.StringFlag{Name: flagTLSKey, Usage: "`FILE` of its key"},
			&cli.StringFlag{Name: command.FlagCustomer, Usage: "`WALLET` that pays and whose credits rise (default: that of your keypair file)"},
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
	args, err := s.Args("AMOUNT")
	if err != nil {
		return err
	}
	amount, err := market.ParseUSDC(args[0])
	if err != nil {
		return err
	}
	if file := s.CLI.String("qr-file"); file != "" && !strings.HasSuffix(file, ".svg") && !strings.HasSuffix(file, ".png") {
		return service.Usage(fmt.Sprintf("--qr-file %q is neither an .svg nor a .png", file), "")
	}
	customer, err := s.payer()
	if err != nil {
		return err
	}
	mk, err := s.Market()
	if err != nil {
		return err
	}
	if s.CLI.Bool("transfer") {
		link := solanapay.TransferLink(customer, mk.PaymentMint, amount, "USDC to your wallet")
		return s.showLink(payJSON{Customer: customer.String(), Amount: amount.String(), Link: link})
	}
	base, err := s.PublicURL()
	if err != nil {
		return err
	}
	if base == nil {
		return service.Usage("--public-url is missing: wallets fetch the deposit from an https:// address", "see gantry credits pay --help; without one: gantry credits pay --transfer AMOUNT")
	}
	payments, end, err := server.OpenPayments(s.Context, server.PaymentOptions{Service: s.Service, Sender: s.Unsigned(), Customer: customer, Base: base})
	if err != nil {
		return err
	}
	defer end()
	p, err := payments.Open(amount, s.CLI.Duration("lasts"))
	if errors.Is(err, solanapay.ErrAmount) || errors.Is(err, solanapay.ErrLasts) {
		return service.Usage(err.Error(), "")
	}
	if err != nil {
		return err
	}
	o := server.Listening{Addr: s.CLI.String("listen"), Cert: s.CLI.String(flagTLSCert), Key: s.CLI.String(flagTLSKey)}
	o.Next = "give a certificate with --tls-cert and --tls-key, or put a proxy with TLS on this machine"
	l, err := o.Listen() // never plain beyond loopback: what wallets sign passes there
	if err != nil {
		return err
	}
	if err := s.showLink(payJSON{Customer: p.Customer, Amount: p.Amount, Link: p.Link, Expires: p.Expires}); err != nil {
		return errors.Join(err, l.Close())
	}
	last, err := payments.Serve(s.Context, l, p, base.Hostname(), func(e error) {
		if e != nil {
			s.Say(" · the network does not answer: %v", e)
			return
		}
		s.Say(" · a wallet has fetched the deposit; it is to be confirmed there")
	})
	switch {
	case s.Context.Err() != nil:
		return service.Interrupted("interrupted; the link works no more", "a deposit that is signed already may still take effect: gantry credits show")
	case err != nil:
		return err
	case last.State == solanapay.Expired:
		return service.Refused("nobody has paid in time", "begin again with: gantry credits pay "+last.Amount)
	}
	fmt.Fprintf(s.Err, " · paid     %s USDC are in the credits of %s   tx %s\n", last.Amount, last.Customer, last.Transaction)
	return nil
}

// payer is the account that is asked to pay.
func (s *session) payer() (solana.PublicKey, error) {
	return s.WalletOr(s.CLI.String(command.FlagCustomer), "wallet")
}

// showLink prints a link with its QR code.
func (s *session) showLink(out payJSON) error {
	code, err := solanapay.NewQR(out.Link)
	if err != nil {
		return err
	}
	if out.QRFile = s.CLI.String("qr-file"); out.QRFile != "" {
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
	return s.Done(out, func(w *terminal.Page) {
		fmt.Fprint(w, code.Terminal())
		fmt.Fprintf(w, "link      %s\n", out.Link)
		fmt.Fprintf(w, "for       %s USDC of the wallet %s\n", out.Amount, out.Customer)
		if out.QRFile != "" {
			fmt.Fprintf(w, "QR code   %s\n", out.QRFile)
		}
	})
}
