package txform_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/repository"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txform"
)

// data is bytes in hex.
type data []byte

func (d *data) UnmarshalText(text []byte) (err error) {
	*d, err = hex.DecodeString(string(text))
	return err
}

// vectors are those that the Rust crates wrote (program/tests/tests/transactions_v1.rs).
type vectors struct {
	Cases []struct {
		Name         string
		Signers      int
		Blockhash    data
		Instructions []struct {
			Program  data
			Accounts []struct {
				Key              data
				Signer, Writable bool
			}
			Data data
		}
		PriorityFee          *uint64 `json:"priority_fee"`
		Units, Loaded, Heap  *uint32
		Message, Transaction data
	}
	Limits []struct {
		Name    string
		Message data
		Valid   bool
	}
	Base          data
	Changes, Cuts string
}

func read(t testing.TB) (v vectors) {
	raw, err := os.ReadFile(filepath.Join(repository.Root(t), "idl/vectors/transactions_v1.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

// What Go builds of the same instructions is byte for byte what the Rust crates build, and it is read back.
func TestTransactionsAreThoseOfAgavesCrates(t *testing.T) {
	cases := read(t).Cases
	require.NotEmpty(t, cases)
	for _, c := range cases {
		var all []solana.Instruction
		for _, i := range c.Instructions {
			var accounts solana.AccountMetaSlice
			for _, a := range i.Accounts {
				accounts = append(accounts, solana.NewAccountMeta(solana.PublicKey(a.Key), a.Writable, a.Signer))
			}
			all = append(all, solana.NewInstruction(solana.PublicKey(i.Program), accounts, i.Data))
		}
		m, err := txform.Message(c.Message)
		require.NoError(t, err, c.Name)
		require.Equal(t, solana.MessageVersionV1, m.GetVersion())
		require.Equal(t, solana.TransactionConfig{
			PriorityFee: c.PriorityFee, ComputeUnitLimit: c.Units, LoadedAccountsDataSizeLimit: c.Loaded, HeapSize: c.Heap,
		}, m.TransactionConfig, c.Name)

		tx, err := solana.TransactionFromBytes(c.Transaction)
		require.NoError(t, err, c.Name)
		require.NoError(t, tx.VerifySignatures(), c.Name)
		require.Len(t, tx.Signatures, c.Signers)
		for n, i := range all {
			got := tx.Message.Instructions[n]
			accounts, err := got.ResolveInstructionAccounts(&tx.Message)
			require.NoError(t, err)
			require.Len(t, accounts, len(i.Accounts()))
			for k, a := range i.Accounts() {
				require.Equal(t, a.PublicKey, accounts[k].PublicKey, c.Name)
			}
			want, err := i.Data()
			require.NoError(t, err)
			require.Equal(t, want, []byte(got.Data), c.Name)
		}

		built, err := solana.NewTransaction(all, solana.Hash(c.Blockhash), solana.TransactionPayer(m.AccountKeys[0]), solana.TransactionV1Config(m.TransactionConfig))
		if c.PriorityFee != nil && c.Heap == nil { // as this package sets it
			built, err = txform.VersionOne.Build(m.AccountKeys[0], solana.Hash(c.Blockhash), txform.Budget{Units: *c.Units, Price: 1_001}, all...)
		}
		require.NoError(t, err, c.Name)
		built.Signatures = tx.Signatures
		raw, err := built.MarshalBinary()
		require.NoError(t, err)
		if sameOrder(&built.Message, m) {
			require.Equal(t, hex.EncodeToString(c.Transaction), hex.EncodeToString(raw), c.Name)
		}
		require.Len(t, raw, len(c.Transaction), c.Name)
		require.Equal(t, m.Header, built.Message.Header, c.Name)
		require.ElementsMatch(t, m.AccountKeys, built.Message.AccountKeys, c.Name)
	}
}

// sameOrder reports whether two messages list their addresses in one order: accounts of one role may stand in any.
func sameOrder(a, b *solana.Message) bool {
	for i, k := range a.AccountKeys {
		if b.AccountKeys[i] != k {
			return false
		}
	}
	return true
}

// Go's verdict about a message is that of the Rust crates: at each limit, for each changed byte, and for each length.
func TestVerdictsAreThoseOfAgavesCrates(t *testing.T) {
	v := read(t)
	one := func(raw []byte) bool {
		m, err := txform.Message(raw)
		if err != nil {
			require.ErrorIs(t, err, txform.ErrMessage)
		}
		return err == nil && m.GetVersion() == solana.MessageVersionV1
	}
	valid := 0
	for _, c := range v.Limits {
		require.Equal(t, c.Valid, one(c.Message), c.Name)
		if c.Valid {
			valid++
		}
	}
	require.Positive(t, valid)
	require.Less(t, valid, len(v.Limits))

	const values = 8
	require.Len(t, v.Changes, values*len(v.Base))
	for at, old := range v.Base {
		for n, value := range [values]byte{0, 1, 2, 0x7f, 0x80, 0xff, old + 1, old - 1} {
			raw := append([]byte(nil), v.Base...)
			raw[at] = value
			require.Equal(t, v.Changes[values*at+n] == '1', one(raw), "byte %d is %d", at, value)
		}
	}
	require.Len(t, v.Cuts, len(v.Base)+4)
	for length := range v.Cuts {
		raw := make([]byte, length)
		copy(raw, v.Base)
		require.Equal(t, v.Cuts[length] == '1', one(raw), "%d bytes", length)
	}
}

func call(program byte, accounts, size int) solana.Instruction {
	var metas solana.AccountMetaSlice
	for n := range accounts {
		metas = append(metas, solana.Meta(solana.PublicKey{1, byte(n)}))
	}
	return solana.NewInstruction(solana.PublicKey{program}, metas, make([]byte, size))
}

// Each form holds as many bytes as it may, and one more is an error. The budget does not change the size.
func TestFormsHoldTheirBytes(t *testing.T) {
	payer := solana.PublicKey{9}
	for form, most := range map[txform.Form]int{txform.Legacy: 1232, txform.VersionOne: 4096} {
		require.Equal(t, most, form.Bytes())
		empty, err := form.Build(payer, solana.Hash{1}, txform.Budget{}, call(8, 2, 900))
		require.NoError(t, err)
		size, err := txform.Size(empty)
		require.NoError(t, err)
		spare := most - size
		full, err := form.Build(payer, solana.Hash{1}, txform.Budget{Units: 1_400_000, Price: 1 << 40}, call(8, 2, 900+spare))
		require.NoError(t, err)
		size, err = txform.Size(full)
		require.NoError(t, err)
		require.Equal(t, most, size)
		raw, err := full.Message.MarshalBinary()
		require.NoError(t, err)
		_, err = txform.Message(raw)
		require.NoError(t, err)

		require.False(t, form.Holds(payer, call(8, 2, 901+spare)))
		_, err = form.Build(payer, solana.Hash{1}, txform.Budget{}, call(8, 2, 901+spare))
		require.ErrorIs(t, err, txform.ErrTooLarge)
		full.Message.Instructions[0].Data = make([]byte, 901+spare)
		raw, err = full.Message.MarshalBinary()
		require.NoError(t, err)
		_, err = txform.Message(raw)
		require.ErrorIs(t, err, txform.ErrMessage, "one byte more, written by hand")
	}
	require.True(t, txform.VersionOne.Holds(payer, call(8, 62, 1)))
	require.False(t, txform.VersionOne.Holds(payer, call(8, 63, 1)), "65 addresses")
	many := make([]solana.Instruction, 65)
	for i := range many {
		many[i] = call(8, 1, 1)
	}
	require.True(t, txform.VersionOne.Holds(payer, many[1:]...))
	require.False(t, txform.VersionOne.Holds(payer, many...))
}

// A transaction pays for its own signatures, for those that the runtime checks for programs, and for priority.
func TestFee(t *testing.T) {
	payer := solana.PublicKey{9}
	key := solana.NewWallet().PrivateKey
	sig, err := key.Sign([]byte("message"))
	require.NoError(t, err)
	check, err := ix.VerifySignature(key.PublicKey(), sig, []byte("message"))
	require.NoError(t, err)
	three := solana.NewInstruction(solana.Secp256k1ProgramID, nil, []byte{3})
	nothing := solana.NewInstruction(solana.Secp256k1ProgramID, nil, nil)
	for _, form := range []txform.Form{txform.Legacy, txform.VersionOne} {
		tx, err := form.Build(payer, solana.Hash{1}, txform.Budget{Units: 1_000_000, Price: 3}, check, call(8, 1, 1), check, three, nothing)
		require.NoError(t, err)
		require.Equal(t, 1+1+1+3, txform.Signatures(&tx.Message), form)
		require.Equal(t, 6*chain.SignatureFee+3, txform.Fee(&tx.Message), form)
	}
	tx, err := solana.NewTransaction([]solana.Instruction{call(8, 1, 1)}, solana.Hash{}, solana.TransactionPayer(payer))
	require.NoError(t, err)
	require.Equal(t, chain.SignatureFee, txform.Fee(&tx.Message))
}
