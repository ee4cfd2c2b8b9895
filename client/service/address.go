package service

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Address reads the base58 address of what a person names. Error: a [Failure].
func Address(text, what string) (solana.PublicKey, error) {
	key, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return key, Usage(fmt.Sprintf("%q is not the address of a %s", text, what), "copy it in full from the command that listed it")
	}
	return key, nil
}
