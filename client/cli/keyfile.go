package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
)

func keyCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "key", Usage: "keypair files: encrypt one with a passphrase, and back",
		Description: "Every command and daemon of Gantry takes an encrypted file where it takes a keypair file. The passphrase comes from the\n" +
			"file that " + chain.PassphraseVariable + " names, from systemd's credential " + chain.PassphraseCredential + ", or is asked for at the terminal.\n" +
			"The format is that of age (https://age-encryption.org), so that `age -d` opens it as well.",
		Subcommands: []*cli.Command{
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

func (s *session) keyEncrypt() error {
	args, err := s.args("FILE", "NEW")
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
		"delete "+args[0]+" once a command has read the new one; whoever has that file needs no passphrase")
}

func (s *session) keyDecrypt() error {
	args, err := s.args("FILE", "NEW")
	if err != nil {
		return err
	}
	key, err := loadKey(args[0])
	if err != nil {
		return err
	}
	return s.keySaved(key, args[1], chain.SaveKeypair(args[1], key), "whoever has this file has the key")
}

func (s *session) keySaved(key solana.PrivateKey, path string, err error, advice string) error {
	switch {
	case errors.Is(err, chain.ErrKeypairExists), errors.Is(err, chain.ErrPassphrase):
		return refused(err.Error(), "")
	case err != nil:
		return err
	}
	out := keypairFile{key.PublicKey().String(), path}
	return s.done(out, func(w io.Writer) { fmt.Fprintf(w, "%s is in %s; %s\n", out.Address, out.File, advice) })
}

func (s *session) keyAddress() error {
	args, err := s.args("FILE")
	if err != nil {
		return err
	}
	key, err := loadKey(args[0])
	if err != nil {
		return err
	}
	out := keypairFile{key.PublicKey().String(), args[0]}
	return s.done(out, func(w io.Writer) { fmt.Fprintln(w, out.Address) })
}

func loadKey(path string) (solana.PrivateKey, error) {
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return nil, usage(err.Error(), "")
	}
	return key, nil
}
