package fleet

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoad(t *testing.T) {
	f, err := Load(write(t, `
defaults: {url: "http://node:8899", region: us-west-2, price: auto, accept: [clock-sync]}
machines:
  - {name: rack1-01, ssh: root@10.1.0.11}
  - {name: rack1-02, ssh: rack1-02, price: "1.20", site: rack1}
  - {name: other, through: [docker, exec, -i, agent]}
`))
	require.NoError(t, err)
	all, err := f.Only(nil)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, []string{"--url", "http://node:8899", "--region", "us-west-2", "--price", "auto", "--accept", "clock-sync"}, all[0].Flags())
	require.Equal(t, "1.20", all[1].Price)
	require.Equal(t, "rack1", all[1].Site)
	one, err := f.Only([]string{"other"})
	require.NoError(t, err)
	require.Equal(t, []string{"docker", "exec", "-i", "agent", "gantry-agent", "status", "--json"}, one[0].command([]string{"status", "--json"}))
	_, err = f.Only([]string{"none"})
	require.ErrorIs(t, err, ErrFile)

	for text, says := range map[string]string{
		"machines: []": "lists no machines",
		"machines: [{name: a, ssh: x}, {name: a, ssh: y}]": "two machines are called a",
		"machines: [{name: a}]":                            "say how it is reached",
		"machines: [{name: a, ssh: x, through: [y]}]":      "say how it is reached",
		"machines: [{name: a, ssh: -oProxyCommand=evil}]":  "is an option",
		"machines: [{name: \"a b\", ssh: x}]":              "name",
		"machines: [{name: a, ssh: x, prize: 1}]":          "prize",
	} {
		_, err := Load(write(t, text))
		require.ErrorIs(t, err, ErrFile, text)
		require.ErrorContains(t, err, says, text)
	}
	_, err = Load(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, ErrFile)
}

// What is passed to a machine arrives there as it is: SSH hands words to a shell.
func TestWordsReachTheMachineAsTheyAre(t *testing.T) {
	m := Machine{Name: "one", SSH: "root@host"}
	words := []string{"update", "--hours", "weekdays 19:00-08:00; weekends", "a'b", "$(touch x)", "`id`", `back\slash`, ""}
	line := m.command(words)
	require.Equal(t, []string{"ssh", "--", "root@host"}, []string{line[0], line[len(line)-3], line[len(line)-2]})
	shell := Machine{Name: "sh", Through: []string{"sh", "-c", strings.Replace(line[len(line)-1], Program, `printf '<%s>'`, 1), "sh"}}
	out, err := shell.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "<"+strings.Join(words, "><")+">", string(out))
}

func TestRunSaysWhatTheMachineSaid(t *testing.T) {
	through := func(script string) Machine { return Machine{Name: "one", Through: []string{"sh", "-c", script, "sh"}} }
	_, err := through("echo first >&2; echo 'error: no key' >&2; exit 3").Run(t.Context(), nil, "status")
	require.ErrorIs(t, err, ErrReach)
	require.ErrorContains(t, err, "one: no key (exit status 3)")
	out, err := through("cat; echo $1").Run(t.Context(), []byte("input "), "status")
	require.NoError(t, err)
	require.Equal(t, "input gantry-agent\n", string(out))
	_, err = through("yes").Run(t.Context(), nil)
	require.ErrorIs(t, err, ErrReach)
}

func registration(t *testing.T, wallet, key solana.PublicKey) solana.Instruction {
	i, err := ix.NodeRegister(ix.NodeRegisterArgs{Wallet: wallet, NodeKey: key, Spec: market.NodeSpec{Model: 1, Gpus: 1}, Price: 1, Devices: [][32]byte{{1}}})
	require.NoError(t, err)
	return i
}

func message(t *testing.T, payer solana.PublicKey, instructions ...solana.Instruction) []byte {
	tx, err := solana.NewTransaction(instructions, solana.Hash{7}, solana.TransactionPayer(payer))
	require.NoError(t, err)
	raw, err := tx.Message.MarshalBinary()
	require.NoError(t, err)
	return raw
}

func TestAMachineSignsItsRegistrationAlone(t *testing.T) {
	wallet, key, other := solana.NewWallet().PublicKey(), solana.NewWallet().PublicKey(), solana.NewWallet().PublicKey()
	good := message(t, wallet, registration(t, wallet, key))
	require.NoError(t, CheckRegistration(good, key))
	for name, raw := range map[string][]byte{
		"of another machine":        message(t, wallet, registration(t, wallet, other)),
		"paid by the machine":       message(t, key, registration(t, key, other)),
		"the machine as the wallet": message(t, wallet, registration(t, key, other)),
		"its money besides":         message(t, wallet, registration(t, wallet, key), system.NewTransferInstruction(1, key, wallet).Build()),
		"its money alone":           message(t, wallet, system.NewTransferInstruction(1, key, wallet).Build()),
		"twice":                     message(t, wallet, registration(t, wallet, key), registration(t, wallet, key)),
		"its money to it":           message(t, wallet, system.NewTransferInstruction(1, wallet, key).Build(), registration(t, wallet, key)),
		"nothing":                   message(t, wallet, system.NewTransferInstruction(1, wallet, other).Build()),
		"bytes behind":              append(bytes.Clone(good), 0),
		"cut off":                   good[:len(good)-1],
		"no message":                []byte("hello"),
		"empty":                     nil,
		"another instruction of market": message(t, wallet, func() solana.Instruction {
			i, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: key})
			require.NoError(t, err)
			return i
		}()),
	} {
		require.ErrorIs(t, CheckRegistration(raw, key), ErrNotRegistration, name)
	}
}

func TestASignatureIsLookedAt(t *testing.T) {
	key := solana.NewWallet().PrivateKey
	wrong, err := key.Sign([]byte("something else"))
	require.NoError(t, err)
	for _, says := range []string{wrong.String(), "nonsense", ""} {
		s := Signer{Machine: Machine{Name: "one", Through: []string{"echo", says, "#"}}, Key: key.PublicKey(), Timeout: time.Minute}
		_, err := s.Sign([]byte("message"))
		require.ErrorIs(t, err, ErrEnrolment)
	}
}

func TestReadEnrolment(t *testing.T) {
	for _, text := range []string{"", "{}", `{"version":2}`, `{"version":1}`, "[]"} {
		_, err := ReadEnrolment([]byte(text))
		require.ErrorIs(t, err, ErrEnrolment, text)
	}
}
