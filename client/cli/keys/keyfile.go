package keys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/chain"
)

const flagPassphrase = "passphrase"

func keyCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "key", Usage: "keypair files: make one, take one over from a wallet, encrypt it with a passphrase",
		Description: "Every command and daemon of Gantry takes an encrypted file where it takes a keypair file. The passphrase comes from the\n" +
			"file that " + chain.PassphraseVariable + " names, from systemd's credential " + chain.PassphraseCredential + ", or is asked for at the terminal.\n" +
			"The format is that of age (https://age-encryption.org); `age -d` opens it as well.",
		Subcommands: []*cli.Command{
			{
				Name: "new", Usage: "make a keypair file", ArgsUsage: "[FILE]",
				Description: "Without FILE it is the one that commands read by default. The file is for its owner alone, and an existing one stays as it is.",
				Flags:       []cli.Flag{sealFlag()}, Action: action(s, (*session).keyNew),
			},
			{
				Name: "import", Usage: "make a keypair file of a secret key on standard input", ArgsUsage: "[FILE]",
				Description: "The key is base58, as wallets export it, or the JSON array of Solana's tools. It is read without being shown.",
				Flags:       []cli.Flag{sealFlag()}, Action: action(s, (*session).keyImport),
			},
			{Name: "encrypt", Usage: "write a copy that only a passphrase opens", ArgsUsage: "FILE NEW", Action: action(s, (*session).keyEncrypt)},
			{Name: "decrypt", Usage: "write a copy that Solana's tools read", ArgsUsage: "FILE NEW", Action: action(s, (*session).keyDecrypt)},
			{Name: "address", Usage: "the address of a keypair file", ArgsUsage: "FILE", Action: action(s, (*session).keyAddress)},
		},
	}}
}

type keypairFile struct {
	Address string `json:"address"`
	File    string `json:"file"`
}

func sealFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagPassphrase, Usage: "encrypt the file with a passphrase"}
}

// keyNew makes a key.
func (s *session) keyNew() error {
	path, err := s.keyPath()
	if err != nil {
		return err
	}
	key, err := solana.NewRandomPrivateKey()
	if err != nil {
		return fmt.Errorf("new key: %w", err)
	}
	return s.keyWritten(key, path)
}

// keyImport reads a key that a wallet has exported.
func (s *session) keyImport() error {
	path, err := s.keyPath()
	if err != nil {
		return err
	}
	raw, err := s.secret("secret key: ")
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(raw))
	var key solana.PrivateKey
	if strings.HasPrefix(text, "[") {
		key, err = chain.ParseKeypair([]byte(text))
	} else if key, err = solana.PrivateKeyFromBase58(text); err == nil {
		err = key.Validate()
	}
	if err != nil { // nothing of the key is repeated
		return service.Usage("that is not a secret key", "paste what the wallet exports: base58 of 64 bytes, or the JSON array of a keypair file")
	}
	return s.keyWritten(key, path)
}

// keyPath is the file that is written: the argument, or the one that commands read.
func (s *session) keyPath() (string, error) {
	switch args := s.CLI.Args().Slice(); len(args) {
	case 0:
		return s.Config.KeypairPath, nil
	case 1:
		return args[0], nil
	default:
		return "", service.Usage(fmt.Sprintf("%q is one argument too many", args[1]), "write: "+s.CLI.Command.HelpName+" [FILE]")
	}
}

// secret reads a line: without showing it where somebody types, else all of standard input.
func (s *session) secret(question string) ([]byte, error) {
	if in, ok := s.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(s.Err, question)
		raw, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(s.Err)
		return raw, err
	}
	return io.ReadAll(io.LimitReader(s.In, maxSecret))
}

// maxSecret is how much is read of a secret key.
const maxSecret = 4 << 10

func (s *session) keyWritten(key solana.PrivateKey, path string) error {
	if !s.CLI.Bool(flagPassphrase) {
		return s.keySaved(key, path, chain.SaveKeypair(path, key), "keep a copy in a safe place: anyone with the file has the key, and nobody can restore it")
	}
	passphrase, err := chain.Passphrase("new passphrase of "+path, true)
	if err != nil {
		return err
	}
	return s.keySaved(key, path, chain.SaveEncrypted(path, key, passphrase), "keep a copy of it and of the passphrase: nobody can restore them")
}

func (s *session) keyEncrypt() error {
	args, err := s.Args("FILE", "NEW")
	if err != nil {
		return err
	}
	key, err := loadKey(args[0])
	if err != nil {
		return err
	}
	passphrase, err := chain.Passphrase("new passphrase of "+args[1], true)
	if err != nil {
		return err
	}
	return s.keySaved(key, args[1], chain.SaveEncrypted(args[1], key, passphrase),
		"delete "+args[0]+" once a command has read the new one; anyone with the old file needs no passphrase")
}

func (s *session) keyDecrypt() error {
	args, err := s.Args("FILE", "NEW")
	if err != nil {
		return err
	}
	key, err := loadKey(args[0])
	if err != nil {
		return err
	}
	return s.keySaved(key, args[1], chain.SaveKeypair(args[1], key), "anyone with this file has the key")
}

func (s *session) keySaved(key solana.PrivateKey, path string, err error, advice string) error {
	switch {
	case errors.Is(err, chain.ErrKeypairExists), errors.Is(err, chain.ErrPassphrase):
		return service.Refused(err.Error(), "")
	case err != nil:
		return err
	}
	out := keypairFile{key.PublicKey().String(), path}
	return s.Done(out, func(w *terminal.Page) { fmt.Fprintf(w, "%s is in %s; %s\n", out.Address, out.File, advice) })
}

func (s *session) keyAddress() error {
	args, err := s.Args("FILE")
	if err != nil {
		return err
	}
	key, err := loadKey(args[0])
	if err != nil {
		return err
	}
	out := keypairFile{key.PublicKey().String(), args[0]}
	return s.Done(out, func(w *terminal.Page) { fmt.Fprintln(w, out.Address) })
}

func loadKey(path string) (solana.PrivateKey, error) {
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return nil, service.Usage(err.Error(), "")
	}
	return key, nil
}
