package chain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/gagliardetto/solana-go"
	"golang.org/x/term"
)

// ErrPassphrase: the passphrase of an encrypted keypair file is wrong, or there is none.
var ErrPassphrase = errors.New("encrypted keypair file")

const (
	// PassphraseVariable names a file with the passphrase of encrypted keypair files.
	PassphraseVariable = "GANTRY_PASSPHRASE_FILE"
	// PassphraseCredential is the name under which systemd hands a service the passphrase (LoadCredential=).
	PassphraseCredential = "gantry-passphrase"

	ageIntro = "age-encryption.org/v1"
	// maxWork bounds what a foreign file makes this machine compute: a gigabyte of memory, some seconds.
	maxWork = 20
	// maxPassphrase is more than a person types, and bounds the file that is read by mistake.
	maxPassphrase = 4096
)

// encrypted reports whether a file is one of age: https://age-encryption.org, as `age -p` or EncryptKeypair make it.
func encrypted(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte(ageIntro)) || bytes.HasPrefix(bytes.TrimSpace(raw), []byte(armor.Header))
}

// EncryptKeypair is the content of a keypair file that only the passphrase opens. Error: ErrPassphrase for an empty one.
func EncryptKeypair(key solana.PrivateKey, passphrase string) ([]byte, error) {
	return encryptKeypair(key, passphrase, 0)
}

// encryptKeypair is EncryptKeypair with a work factor; 0 takes age's.
func encryptKeypair(key solana.PrivateKey, passphrase string, work int) ([]byte, error) {
	if passphrase == "" {
		return nil, fmt.Errorf("%w: the passphrase is empty", ErrPassphrase)
	}
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	if work > 0 {
		to.SetWorkFactor(work)
	}
	var out bytes.Buffer
	text := armor.NewWriter(&out)
	w, err := age.Encrypt(text, to)
	if err != nil {
		return nil, fmt.Errorf("encrypt the keypair: %w", err)
	}
	_, err = io.WriteString(w, encodeKeypair(key))
	if err := errors.Join(err, w.Close(), text.Close()); err != nil {
		return nil, fmt.Errorf("encrypt the keypair: %w", err)
	}
	return out.Bytes(), nil
}

// decryptKeypair opens a file that encrypted takes. Errors: ErrPassphrase, ErrKeypairFormat.
func decryptKeypair(raw []byte, passphrase string) (solana.PrivateKey, error) {
	with, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	with.SetMaxWorkFactor(maxWork)
	var in io.Reader = bytes.NewReader(raw)
	if !bytes.HasPrefix(raw, []byte(ageIntro)) {
		in = armor.NewReader(bytes.NewReader(raw))
	}
	r, err := age.Decrypt(in, with)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, fmt.Errorf("%w: the passphrase is wrong, or the file is encrypted for a key and not with a passphrase", ErrPassphrase)
	case err != nil:
		return nil, fmt.Errorf("%w: an encrypted file that cannot be opened: %w", ErrKeypairFormat, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("%w: an encrypted file that is damaged: %w", ErrKeypairFormat, err)
	}
	return ParseKeypair(plain)
}

// Passphrase is that of encrypted keypair files: from the file that PassphraseVariable names, from systemd's credential, or typed at
// the terminal after a question, twice where it is a new one. Error: ErrPassphrase.
func Passphrase(question string, fresh bool) (string, error) {
	path := os.Getenv(PassphraseVariable)
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); path == "" && dir != "" {
		if credential := filepath.Join(dir, PassphraseCredential); exists(credential) {
			path = credential
		}
	}
	if path != "" {
		return passphraseOf(path)
	}
	in, out, err := openTerminal()
	if err != nil {
		return "", fmt.Errorf("%w: there is no terminal to ask at: put the passphrase into a file that only you can read and name it in %s, or give the service a credential %s", ErrPassphrase, PassphraseVariable, PassphraseCredential)
	}
	defer in.Close()
	defer out.Close() // the same file, except on Windows
	ask := func(question string) (string, error) {
		fmt.Fprintf(out, "%s: ", question)
		typed, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(out)
		if err != nil {
			return "", fmt.Errorf("%w: the passphrase was not read: %w", ErrPassphrase, err)
		}
		return string(typed), nil
	}
	typed, err := ask(question)
	if err != nil || !fresh {
		return typed, err
	}
	switch again, err := ask("the same again"); {
	case err != nil:
		return "", err
	case again != typed:
		return "", fmt.Errorf("%w: these are two passphrases", ErrPassphrase)
	}
	return typed, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// passphraseOf reads the first line of a file.
func passphraseOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w: file with the passphrase: %w", ErrPassphrase, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPassphrase+1))
	if err != nil {
		return "", fmt.Errorf("%w: file with the passphrase: %w", ErrPassphrase, err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" || len(raw) > maxPassphrase {
		return "", fmt.Errorf("%w: %s has no passphrase in its first line, or more than %d bytes", ErrPassphrase, path, maxPassphrase)
	}
	return line, nil
}
