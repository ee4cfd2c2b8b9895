package browserwallet

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txform"
)

// call is an instruction of a message with its accounts looked up.
type call struct {
	program  solana.PublicKey
	accounts []solana.PublicKey
	data     []byte
}

// u64 is an amount in the instruction's data; 0 where the data is too short.
func (c call) u64(at int) uint64 {
	if len(c.data) < at+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(c.data[at:])
}

func (c call) u32(at int) uint32 {
	if len(c.data) < at+4 {
		return 0
	}
	return binary.LittleEndian.Uint32(c.data[at:])
}

func (c call) account(n int) string {
	if n >= len(c.accounts) {
		return "?"
	}
	return c.accounts[n].String()
}

// Describe says what a transaction's message does, one sentence an instruction, and what it costs. An instruction that
// it does not know is named as such, with its program. Errors: it is no message.
func Describe(raw []byte) ([]string, error) {
	m, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return describe(m), nil
}

func describe(m *solana.Message) []string {
	var out []string
	for _, c := range callsOf(m) {
		if c.program != solana.ComputeBudget {
			out = append(out, printable.Text(c.sentence()))
		}
	}
	return append(out, fmt.Sprintf("The network's fee is %s. New accounts take their rent besides, which comes back when they are closed.", txform.Fee(m)))
}

// decode reads the message of a transaction that wallets in browsers sign.
func decode(raw []byte) (*solana.Message, error) {
	m, err := txform.Message(raw)
	switch {
	case err != nil:
	case len(m.AddressTableLookups) > 0:
		err = errors.New("accounts from lookup tables are not read here")
	case m.GetVersion() == solana.MessageVersionV1:
		err = errors.New("it does not fit the legacy form, and wallets in browsers sign no larger one; split it")
	}
	if err != nil {
		return nil, fmt.Errorf("message of a transaction: %w", err)
	}
	return m, nil
}

func callsOf(m *solana.Message) (out []call) {
	for _, i := range m.Instructions {
		c := call{program: m.AccountKeys[i.ProgramIDIndex], data: i.Data}
		for _, a := range i.Accounts {
			c.accounts = append(c.accounts, m.AccountKeys[a])
		}
		out = append(out, c)
	}
	return out
}

func (c call) sentence() string {
	switch {
	case c.program == market.ProgramID:
		return c.ours()
	case c.program == solana.SystemProgramID && c.u32(0) == 2 && len(c.data) == 12:
		return fmt.Sprintf("Sends %s to %s.", chain.Lamports(c.u64(4)), c.account(1))
	case c.program == solana.SPLAssociatedTokenAccountProgramID:
		return fmt.Sprintf("Opens the token account of %s for the mint %s, if there is none.", c.account(2), c.account(3))
	case c.program == solana.TokenProgramID && len(c.data) > 0 && c.data[0] == 12:
		return fmt.Sprintf("Sends %d base units of the mint %s to the token account %s.", c.u64(1), c.account(1), c.account(2))
	}
	return fmt.Sprintf("Calls the program %s with %d bytes, which this page does not know.", c.program, len(c.data))
}

// ours says what an instruction of the market does. What has no words of its own has its name.
func (c call) ours() string {
	var id [8]byte
	copy(id[:], c.data)
	usdc, gnt := market.USDC(c.u64(8)), market.GNT(c.u64(8))
	switch id {
	case bindings.Instruction_CreditsDeposit:
		return fmt.Sprintf("Moves %s USDC from the wallet into its credits.", usdc)
	case bindings.Instruction_CreditsWithdraw:
		return fmt.Sprintf("Moves %s USDC from the credits into the wallet.", usdc)
	case bindings.Instruction_CreditsClose:
		return "Closes the credits; what is in them, and the rent, comes back to the wallet."
	case bindings.Instruction_CreditsSetSessionKey:
		if c.u64(40) == 0 {
			return fmt.Sprintf("Takes the powers of the session key %s back.", key(c.data, 8))
		}
		return fmt.Sprintf("Lets the session key %s reserve at most %s USDC of the credits in all.", key(c.data, 8), market.USDC(c.u64(40)))
	case bindings.Instruction_ProviderRegister:
		return "Makes the wallet a provider."
	case bindings.Instruction_ProviderStake:
		return fmt.Sprintf("Stakes %s GNT of the wallet. A fault of a machine can cost them.", gnt)
	case bindings.Instruction_ProviderRequestUnstake:
		return fmt.Sprintf("Asks %s GNT of the stake back; they are free after the cool-down.", gnt)
	case bindings.Instruction_ProviderWithdrawStake:
		return "Takes stake whose cool-down has passed back into the wallet."
	case bindings.Instruction_ProviderSetPayout:
		return "Sends what the provider earns from now on to another token account of the wallet."
	case bindings.Instruction_ProviderClose:
		return "Ends the wallet as a provider; the rent comes back."
	case bindings.Instruction_KeeperRegister:
		return fmt.Sprintf("Bonds %s GNT of the wallet as a keeper. A contradiction of the keeper can cost them.", gnt)
	case bindings.Instruction_KeeperActivate:
		return "Lets the keeper's weight count."
	case bindings.Instruction_KeeperUpdate:
		return "Writes the keeper's address on chain."
	case bindings.Instruction_KeeperRequestExit:
		return "Ends the keeper's votes; the bond is free after the exit time."
	case bindings.Instruction_KeeperWithdraw:
		return "Takes the keeper's bond, with the rent, back into the wallet."
	case bindings.Instruction_NodeRegister:
		return "Registers a machine with a part of the provider's stake."
	case bindings.Instruction_NodeUpdate:
		return fmt.Sprintf("Changes the ask, status or isolation of the machine %s.", c.account(bindings.Place_NodeUpdate_Node))
	case bindings.Instruction_NodeRetire:
		return "Takes a machine out of the market for good."
	case bindings.Instruction_NodeClose:
		return "Closes a retired machine; the rent comes back."
	}
	name := cmp.Or(bindings.InstructionName(c.data), hex.EncodeToString(id[:]))
	return fmt.Sprintf("Calls the Gantry market with the instruction %s, for which this page has no words.", name)
}

func key(data []byte, at int) string {
	if len(data) < at+32 {
		return "?"
	}
	return solana.PublicKeyFromBytes(data[at : at+32]).String()
}
