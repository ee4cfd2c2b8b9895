package rehearsal

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
)

// Instructions of the upgradeable loader (solana-loader-v3-interface, UpgradeableLoaderInstruction), which `solana program`
// sends for operators.
const (
	initializeBuffer uint32 = 0
	writeBuffer      uint32 = 1
	upgradeProgram   uint32 = 3
	setAuthority     uint32 = 4
	extendProgram    uint32 = 6
)

const (
	bufferHead = 4 + 1 + 32 // of a buffer's account, before the code
	chunk      = 960        // bytes of code in a transaction of 1,232
	writers    = 24         // transactions in flight
	writeTries = 5          // of each, where the node does not answer
	leastMore  = 10_240     // bytes by which a program's account grows at least
)

// loader replaces programs as their operators do.
type loader struct {
	send  seed.Sender
	chain *chain.Client
}

func loaderInstruction(number uint32, data []byte, accounts ...*solana.AccountMeta) solana.Instruction {
	return solana.NewInstruction(solana.BPFLoaderUpgradeableProgramID, accounts, append(binary.LittleEndian.AppendUint32(nil, number), data...))
}

// buffer writes code to a new account that a wallet pays for and has authority over.
func (l loader) buffer(ctx context.Context, by seed.Wallet, code []byte) (solana.PublicKey, error) {
	account, err := solana.NewRandomPrivateKey()
	if err != nil {
		return solana.PublicKey{}, err
	}
	size := uint64(bufferHead + len(code))
	rent, err := l.chain.MinimumRent(ctx, size, chain.Confirmed)
	if err != nil {
		return solana.PublicKey{}, err
	}
	if err := l.send.Airdrop(ctx, by.Address(), rent+chain.Lamports(solana.LAMPORTS_PER_SOL)); err != nil {
		return solana.PublicKey{}, err
	}
	address := account.PublicKey()
	create := system.NewCreateAccountInstruction(uint64(rent), size, solana.BPFLoaderUpgradeableProgramID, by.Address(), address).Build()
	begin := loaderInstruction(initializeBuffer, nil, solana.Meta(address).WRITE(), solana.Meta(by.Address()))
	if _, err := l.send.Send(ctx, by.Key, []solana.PrivateKey{account}, create, begin); err != nil {
		return address, fmt.Errorf("make the buffer: %w", err)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for at := 0; at < len(code); at += chunk {
		part := code[at:min(at+chunk, len(code))]
		g.Go(func() error {
			data := binary.LittleEndian.AppendUint32(nil, uint32(at))
			data = append(binary.LittleEndian.AppendUint64(data, uint64(len(part))), part...)
			write := loaderInstruction(writeBuffer, data, solana.Meta(address).WRITE(), solana.Meta(by.Address()).SIGNER())
			if err := l.again(gctx, by, write); err != nil {
				return fmt.Errorf("write %d bytes at %d: %w", len(part), at, err)
			}
			return nil
		})
	}
	return address, g.Wait()
}

// again sends what may take effect twice, and does so again where the node has not answered, as the command line of Solana does.
func (l loader) again(ctx context.Context, by seed.Wallet, i solana.Instruction) (err error) {
	for range writeTries {
		if _, err = l.send.Send(ctx, by.Key, nil, i); err == nil || !chain.Transient(err) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// hand gives authority over a buffer, or over a program's code, to another key.
func (l loader) hand(ctx context.Context, account solana.PublicKey, from seed.Wallet, to solana.PublicKey) error {
	i := loaderInstruction(setAuthority, nil, solana.Meta(account).WRITE(), solana.Meta(from.Address()).SIGNER(), solana.Meta(to))
	_, err := l.send.Send(ctx, from.Key, nil, i)
	return err
}

// extend makes room for code of a length in a program's account, where it has less. The payer pays the rent.
func (l loader) extend(ctx context.Context, program solana.PublicKey, length int, payer seed.Wallet) error {
	code, err := l.chain.Code(ctx, program, chain.Confirmed)
	if err != nil {
		return err
	}
	if length <= len(code.Bytes) {
		return nil
	}
	more := max(length-len(code.Bytes), leastMore)
	i := loaderInstruction(extendProgram, binary.LittleEndian.AppendUint32(nil, uint32(more)), solana.Meta(code.Account).WRITE(), solana.Meta(program).WRITE(),
		solana.Meta(solana.SystemProgramID), solana.Meta(payer.Address()).WRITE().SIGNER())
	_, err = l.send.Send(ctx, payer.Key, nil, i)
	return err
}

// upgrade replaces a program's code by a buffer's, whose rent goes to the authority.
func (l loader) upgrade(ctx context.Context, program, buffer solana.PublicKey, authority seed.Wallet) error {
	data, _, err := solana.FindProgramAddress([][]byte{program[:]}, solana.BPFLoaderUpgradeableProgramID)
	if err != nil {
		return err
	}
	i := loaderInstruction(upgradeProgram, nil, solana.Meta(data).WRITE(), solana.Meta(program).WRITE(), solana.Meta(buffer).WRITE(),
		solana.Meta(authority.Address()).WRITE(), solana.Meta(solana.SysVarRentPubkey), solana.Meta(solana.SysVarClockPubkey),
		solana.Meta(authority.Address()).SIGNER())
	_, err = l.send.Send(ctx, authority.Key, nil, i)
	return err
}
