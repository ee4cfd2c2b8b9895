package chain

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// LoadKeypair reads a Solana keypair file: a JSON array of 64 numbers, the ed25519 seed followed by the public key; or such a
// file that age has encrypted with a passphrase, for which it asks as Passphrase says.
// Errors: ErrKeypairMissing, ErrKeypairFormat, ErrPassphrase.
func LoadKeypair(path string) (solana.PrivateKey, error) {
	full, err := ExpandHome(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s; create one with `gantry key new %s` or pass --keypair PATH", ErrKeypairMissing, full, full)
	case err != nil:
		return nil, fmt.Errorf("keypair file %s cannot be read (check its permissions): %w", full, err)
	case info.IsDir():
		return nil, fmt.Errorf("%w: %s is a folder; pass the path of the .json file inside", ErrKeypairFormat, full)
	case info.Size() > 64<<10:
		return nil, fmt.Errorf("%w: %s has %d bytes; a keypair file is a JSON array of 64 numbers", ErrKeypairFormat, full, info.Size())
	}
	raw, err := os.ReadFile(full)
	if err != nil {
		return nil, fmt.Errorf("keypair file %s cannot be read (check its permissions): %w", full, err)
	}
	key, err := readKeypair(full, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	return key, nil
}

func readKeypair(path string, raw []byte) (solana.PrivateKey, error) {
	if !encrypted(raw) {
		return ParseKeypair(raw)
	}
	passphrase, err := Passphrase("passphrase of "+path, false)
	if err != nil {
		return nil, err
	}
	return decryptKeypair(raw, passphrase)
}

// ParseKeypair reads the content of a Solana keypair file. The message never quotes the content, because it may hold a
// secret. Error: ErrKeypairFormat.
func ParseKeypair(raw []byte) (solana.PrivateKey, error) {
	var nums []int
	if err := json.Unmarshal(raw, &nums); err != nil {
		return nil, fmt.Errorf("%w: expected a JSON array of 64 numbers such as [12,34,…]; is this the right file?", ErrKeypairFormat)
	}
	if len(nums) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("%w: it has %d numbers instead of 64; the file is cut off or of another kind", ErrKeypairFormat, len(nums))
	}
	key := make(solana.PrivateKey, ed25519.PrivateKeySize)
	for i, n := range nums {
		if n < 0 || n > 255 {
			return nil, fmt.Errorf("%w: number %d is not a byte (0 to 255)", ErrKeypairFormat, i)
		}
		key[i] = byte(n)
	}
	if derived := ed25519.NewKeyFromSeed(key[:ed25519.SeedSize]); !derived.Equal(ed25519.PrivateKey(key)) {
		return nil, fmt.Errorf("%w: its public half does not belong to its secret half; restore the file from a backup", ErrKeypairFormat)
	}
	return key, nil
}

// SaveKeypair writes a new keypair file that only its owner can read. It never overwrites: a lost key is lost money.
// Error: ErrKeypairExists.
func SaveKeypair(path string, key solana.PrivateKey) error {
	return saveKeypair(path, []byte(encodeKeypair(key)))
}

// LoadOrMakeKeypair reads a keypair file that a program keeps for itself, and makes it when there is none. Of several programs that
// do so at once, one makes the key that all use. Errors: those of LoadKeypair and SaveKeypair.
func LoadOrMakeKeypair(path string) (key solana.PrivateKey, made bool, err error) {
	if key, err = LoadKeypair(path); !errors.Is(err, ErrKeypairMissing) {
		return key, false, err
	}
	if key, err = solana.NewRandomPrivateKey(); err != nil {
		return nil, false, fmt.Errorf("new key: %w", err)
	}
	err = SaveKeypair(path, key)
	if errors.Is(err, ErrKeypairExists) { // made by another program just now
		key, err = LoadKeypair(path)
		return key, false, err
	}
	return key, err == nil, err
}

// SaveEncrypted is SaveKeypair for a file that only the passphrase opens. Errors: ErrKeypairExists, ErrPassphrase.
func SaveEncrypted(path string, key solana.PrivateKey, passphrase string) error {
	raw, err := EncryptKeypair(key, passphrase)
	if err != nil {
		return err
	}
	return saveKeypair(path, raw)
}

func saveKeypair(path string, content []byte) error {
	full, err := ExpandHome(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return fmt.Errorf("keypair folder: %w", err)
	}
	err = atomicfile.Create(full, content)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s; choose another path", ErrKeypairExists, full)
	}
	if err != nil {
		return fmt.Errorf("keypair file: %w", err)
	}
	return nil
}

func encodeKeypair(key solana.PrivateKey) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, x := range key {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, x)
	}
	b.WriteString("]\n")
	return b.String()
}

// ExpandHome replaces a leading ~ by the user's home folder.
func ExpandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("home folder of %s: %w", path, err)
	}
	return filepath.Join(home, strings.TrimPrefix(path, "~")), nil
}
